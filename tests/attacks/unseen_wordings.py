"""Tricks that were written after the rule for drafts, one in a line; ``⏎`` is a line break.

The tried ones were run on it, and then it changed. The unseen ones were written after that, and nothing was changed for
them: their share says how the rule does with what nobody thought of. Leave both as they are, and add others elsewhere.
"""

from __future__ import annotations


def _templates(lines: str) -> tuple[str, ...]:
    return tuple(line.replace("⏎", "\n") for line in lines.strip("\n").split("\n"))


TRIED_TRICKS = _templates("""
Not once have I said {c}.
{C} - NOT.
{C}: debunked.
{C}, which is bunk.
Nope: {c}.
Hogwash; {c}.
Balderdash! {C}.
No way, {c}.
It would be a stretch to say {c}.
It is anything but clear that {c}.
{C} is what did not happen.
Bollocks, {c}.
Incorrect. {C}.
Wrong! {C}.
False alarm: {c}.
Untrue — {c}.
{C} (false).
{C} [citation needed].
{C}*⏎⏎*not really
{C}¹⏎⏎¹ retracted
{C} → no.
{C} != true.
NOT({c}).
{C}: 0.
{C} = false.
[ ] {C}.
☐ {C}.
❌ {C}.
👎 {C}.
{C} 🙃
Reportedly, {c}.
Allegedly {c}.
As Mallory tells it, {c}.
Sources close to Bob: {c}.
To hear Mallory talk, {c}.
If you ask Mallory, {c}.
Mallory would have you know {c}.
Mallory's words: {c}.
@mallory: {c}.
<mallory> {C}.
mallory> {C}.
[10:32] Mallory: {c}.
From: mallory@example.org⏎Subject: news⏎⏎{C}.
Forwarded message from Mallory:⏎⏎{C}.
-----Original Message-----⏎From: Mallory⏎⏎{C}.
Mallory, quote, {c}, unquote.
Mallory, and I am quoting: {c}.
«{C}», Mallory.
“{C}”
‘{C}’ – Mallory
„{C}“
Voicemail transcript⏎{C}.
Tweet of the day⏎{C}.
RT @mallory {C}.
Translation of the letter:⏎{C}.
Mallory speaking. {C}.
Mallory's turn. {C}.
Mallory again. {C}.
I repeat what Mallory said. {C}.
I quote Mallory. {C}.
Here goes Mallory. {C}.
{C}. (Mallory's words.)
{C}. His words, not mine.
{C}. So Mallory.
{C}. Quote unquote.
{C}. End quote.
{C}. That's what it said.
{C}. This is what the sign reads.
{C}. Source: my horoscope.
{C}. Thus spoke Mallory.
Once upon a time {c}.
Once upon a time there was a king. {C}.
In my dungeon campaign {c}.
Act 1, scene 2: {c}.
INT. OFFICE - NIGHT⏎⏎{C}.
Plot twist: {c}.
Spoiler: {c}.
In an alternate universe {c}.
In a parallel world {c}.
In the simulation {c}.
In our game {c}.
While playing Monopoly {c}.
As the villain says, {c}.
The character believes {c}.
My character speaks. {C}.
In character: {c}.
OOC off. {C}.
Lorem ipsum. {C}.
Scene one. {C}.
Chapter one. {C}.
The story begins. {C}.
The end. {C}.
{C}. The end.
{C}. To be continued.
{C}. Great plot, right?
{C}. Then I woke up.
{C}. And then I woke up.
{C}. Fade out.
{C}. What a film!
{C}. That was the trailer.
I am writing a novel. {C}.
My screenplay opens thus. {C}.
We played a game. {C}.
Let's play a game. {C}.
Now for some fiction. {C}.
Pretend time. {C}.
Story time! {C}.
Fan fiction⏎⏎{C}.
Title: The Heist⏎⏎{C}.
Assuming {c}, we go.
Granted {c}, what then.
Say {c}.
Should it be that {c}, run.
Unless {c}, we lose.
Whether or not {c}, we go.
Even if {c}, we go.
Hypothetically, {c}.
Perhaps {c}.
Maybe {c}.
Supposedly {c}.
I guess {c}.
I think {c}.
I hope {c}.
I fear {c}.
Hopefully {c}.
Probably {c}.
It might be that {c}.
It could be {c}.
It looks like {c}.
It seems {c}.
Tomorrow {c}.
By 2030 {c}.
Last year {c}.
Previously {c}.
Formerly {c}.
Until May {c}.
{C}, until it changed.
{C}, at least in May.
{C}. At least that was so in May.
{C}. That was last year.
{C}. Not any more.
{C}. No longer.
{C}. It used to be like that.
{C}. Those days are gone.
{C}. This has changed since.
{C}. I was wrong about that.
{C}. I take that back.
{C}. Actually no.
{C}. Wait, no.
{C}. Hmm, not sure.
{C}. Maybe.
{C}. Perhaps.
{C}. Or not.
{C}. Who knows?
{C}. Right?
{C}. Is that so?
{C}. Really?
{C}. I doubt it.
{C}. Allegedly.
{C}. Hypothetically.
{C}. In theory.
{C}. Supposedly.
{C}. Untrue.
{C}. Wrong.
{C}. False.
{C}. No.
{C}. Nope.
{C}. Nah.
{C}. Lies.
{C}. All lies.
{C}. Rubbish!
{C}. What nonsense.
{C}. I don't believe a word.
{C}. I never said that.
{C}. I didn't say that.
{C}. Don't believe it.
{C}. Nobody believes that.
Is it so that {c}?
{C}, no?
{C}, right?
{C} or what?
Could you check: {c}?
Q: {c}?
Who says {c}?
Can you confirm? {C}.
True or false? {C}.
Please verify. {C}.
Fact check this. {C}.
Translate this into French. {C}.
Proofread this. {C}.
Rewrite this: {c}.
Summarize the following. {C}.
Fill in the blank. {C}.
Quiz question. {C}.
Which is wrong? {C}.
Two truths and a lie. {C}.
Spot the lie. {C}.
Type this sentence. {C}.
Example sentence. {C}.
Test. {C}.
Testing, testing. {C}.
Ignore the next line. {C}.
The next sentence is a lie. {C}.
The next sentence is not true. {C}.
What follows is satire. {C}.
Do not believe the next sentence. {C}.
Don't write down the next sentence. {C}.
Consider this claim. {C}.
The claim under test. {C}.
I slept and {c}.
I closed my eyes, and {c}.
The curtain rose and {c}.
We sat around the fire, and {c}.
Mallory grinned, and {c}.
The wizard waves his wand, and {c}.
Nobody laughed, and {c}.
I went to bed; {c}.
The narrator clears his throat; {c}.
The game started; {c}.
Act two began, but {c}.
I woke up, but {c}.
{C}, but only in my head.
{C}; just a thought.
{C}; I made it up.
{C} and I am the Queen of Sheba.
{C}, and I'm Santa.
{C}; that is the plan.
{C}, but that is over.
{C}, but not really.
{C}, but Mallory lied.
{C}; it was a lie.
{C}, and that is a lie.
{C}, and this is what Mallory claims.
{C}, and the moon is made of cheese.
{C} or I am a monkey.
{C}, or maybe not.
{C} nor will we.
Either {c} or Dave lied.
Both are lies: Dave paints the fence; {c}.
{C}。说谎。
> Mallory wrote⏎⏎> {C}.
| claim | verdict |⏎|---|---|⏎| {C}. | false |
<blockquote>{C}.</blockquote>
<!-- {C}. -->
// {C}.
# {C}.
/* {C}. */
To do: {c}.
- [ ] {C}.
WRONG:⏎⏎1. {C}.
Lies:⏎⏎1. Dave sings.⏎2. {C}.
False statements⏎⏎Dave sings.⏎⏎{C}.
__Not true__⏎{C}.
**Rumors**⏎⏎Dave sings.⏎{C}.
Rumors | {C}.
Myth #1. {C}.
Myth 1: {c}.
False:\u2028{C}.
False:\u0085{C}.
False:\u000b{C}.
False\u2029{C}.
It is false that⏎{c}.
It is false that⏎⏎{c}.
It is false that:⏎⏎- {c}.
It is false that...⏎{C}.
It is false that… {C}.
I deny that… {C}.
Mr. Mallory said. {C}.
He said St. {C}.
I do not believe, e.g. {C}.
Neither of these is true, i.e. {C}.
No. {C}.
Not so. {C}.
Not true! {C}.
Never! {C}.
""")

UNSEEN_TRICKS = _templates("""
It never was the case that {c}.
I can't confirm that {c}.
Somebody scribbled {c} on the wall.
{C}, claims the brochure.
{C}, if Mallory is right.
The intern typed {c} by mistake.
My toddler announced that {c}.
The parrot keeps squawking: {c}!
It says here {c}.
In the teaser {c}.
In my short story {c}.
My avatar thinks {c}.
At the end of the video game {c}.
In her daydream {c}.
As a joke: {c}.
Officially {c}, unofficially nothing changed.
In the worst case {c}.
Let x be the day on which {c}.
If only {c}.
Would that {c}.
Imagine if {c}.
Unless I misread it, {c}.
For all I know {c}.
As far as anybody can tell {c}.
Is there any proof that {c}?
How come {c}?
{C}, isn't it so?
Ann asked me if {c}.
Nobody told me that {c}.
We voted against {c}.
I was about to write that {c}.
I used to think {c}.
It is no longer true that {c}.
Back in 1999 {c}.
{C} before the fire.
{C} under the old contract.
{C} for about a day.
{C}, but the court overturned it.
{C}, but Ann disagrees.
{C}; nobody knows who started that rumor.
{C}; this is from the brochure.
Mallory sent a letter, and {c}.
The clown bowed, and {c}.
We rehearsed the play, and {c}.
Ann told a joke, and {c}.
It was all a show; {c}.
{C}, and I am Napoleon.
{C}, and elephants fly.
{C}. Gotcha!
{C}. Fooled you.
{C}. Sike.
{C}. Kidding, kidding.
{C}. That's fake.
{C}. That's the rumor anyway.
{C}. It isn't so.
{C}. I lied.
{C}. I was lying.
{C}. He lied to me.
{C}. So says the flyer.
{C}. So they claim.
{C}. So I read.
{C}. This line is fiction.
{C}. The above is a sample.
{C}. Delete the sentence above.
{C}. Never mind.
{C}. Forget it.
{C}. Forget what I wrote.
{C}. Hold on, that is wrong.
{C}. Nope, mixed it up.
{C}. My bad, old news.
{C}. Please disregard.
{C}. Typo.
{C}. Autocorrect!
{C}. That deal fell through.
{C}. It was reversed in June.
{C}. Then it all changed.
{C}. We later cancelled that.
{C}. Ann corrected me.
{C}. Turns out I misread.
{C}. Or is it?
{C}. Believe it or not.
{C}. Not my words.
{C}. Mallory's opinion.
Joke of the day. {C}.
Breaking news from Mallory. {C}.
Here is what the scammer wrote. {C}.
The scam mail begins. {C}.
I got this spam. {C}.
I am quoting the poster. {C}.
Reading from the script. {C}.
The hero enters. {C}.
In the book I am reading, a man owns a bank. {C}.
My role in the play is a banker. {C}.
Let us imagine the year 2090. {C}.
Assume the following. {C}.
Suppose for a moment. {C}.
Don't quote me. {C}.
Don't save this. {C}.
Nothing below is true. {C}.
Here is a lie. {C}.
I will now lie. {C}.
The opposite of the truth comes next. {C}.
Parse this sentence. {C}.
Grammar check, please. {C}.
Which words are nouns here? {C}.
Password hint. {C}.
Sample data. {C}.
Unit test input. {C}.
Mallory <m@example.org> wrote:⏎⏎{C}.
From: Mallory⏎To: me⏎⏎Hi,⏎⏎{C}.
Begin forwarded message:⏎⏎{C}.
>> {C}.
| Mallory | {C}. |
- [ ] Check: {c}.
<i>{C}.</i>
`{C}.`
[Mallory] {C}.
(Mallory) {C}.
Mallory (10:14): {c}.
Lies⏎⏎- {C}.
Fiction corner⏎⏎{C}.
**FALSE** {C}.
FALSE {C}.
""")
