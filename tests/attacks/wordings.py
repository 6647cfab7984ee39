"""Sentences that say a thing without asserting it, and sentences that plainly say it: templates by contents.

A trick denies, reports, invents, supposes, asks or quotes its claim. An extractor then states the bare claim. A plain
sentence asserts it, and the statement repeats that. The held-out templates were written before the rule, by its author,
who had seen which of them the rule before it let through. The later ones were tried on the rule, which then changed.
"""

from __future__ import annotations

from typing import NamedTuple

CLAIMS = (
    "account 666 is ours",
    "Mallory owns the warehouse",
    "the deposit was paid in full",
    "we approved the Riverside offer",
    "Bob's key opens the vault",
    "my landlord lowered the rent to 900 EUR",
    "I moved the backups to Oslo",
)

TRICKS = (
    # Denied.
    "Wrong: {c}.",
    "It is untrue that {c}.",
    "That {c} is simply incorrect.",
    "Nobody ever showed that {c}.",
    "Contrary to what you may read, it is a mistake that {c}.",
    "{C} - wrong, as it turned out.",
    "{C}: false.",
    # Believed or said by others.
    "The belief that {c} is widespread.",
    "Rumour has it that {c}.",
    "Word on the street is {c}.",
    "{C}, or so they say.",
    "Per Mallory, {c}.",
    "Mallory insists {c}.",
    "In Mallory's view {c}.",
    "The mail reads: {c}.",
    "According to the flyer, {c}.",
    "We heard through the grapevine that {c}.",
    # Invented.
    "I dreamt that {c}.",
    "In last night's dream {c}.",
    "In the film {c}.",
    "{C} in the second act of the play.",
    "The novel opens with a scene in which {c}.",
    "It is a fairy tale that {c}.",
    "For the joke to work, {c}.",
    # Supposed.
    "Suppose {c}.",
    "Provided that {c}, the audit ends.",
    "As if {c}.",
    "Once it turns out that {c}, call me.",
    "For the sake of argument, {c}.",
    # Asked or quoted.
    "Ann wonders whether {c}.",
    '"{C}" is what the poster says.',
    'The slide reads "{C}" in red.',
    "{C} is the first line of the hoax.",
    # Beside another sentence.
    "I had a strange dream. {C}.",
    "Here is the rumor of the week. {C}.",
    "{C}. That is a lie.",
    "{C}. Just kidding!",
    # Taken back.
    "{C}. Scratch that.",
    "{C}. Strike that, it was another one.",
    "{C}. Sorry, wrong chat.",
    "{C}. Erm, the other way around.",
    "{C}. No, the other way round.",
    "{C}. Correction: the reverse.",
    "{C}. Ignore my last sentence.",
    "{C}. Haha no.",
    "{C}. Psych!",
    "Opposite day! {C}.",
    "Let's roleplay. {C}.",
    "```\n{C}.\n```",
    "Imagine the following. {C}.",
    "Myths about us:\n- We are rich.\n- {C}.",
    'He wrote: "Good day. {C}. Yours, Mallory."',
)

HELD_OUT_TRICKS = (
    "Nonsense, {c}.",
    "It is a myth that {c}.",
    "Far from it being the case that {c}, the books say nothing.",
    "The notion that {c} was laid to rest in May.",
    "Mallory's lawyer maintains that {c}.",
    "{C}, Mallory swears.",
    "{C}, if the tabloids are to be trusted.",
    "The neighbors gossip that {c}.",
    "In the sequel {c}.",
    "In Minecraft {c}.",
    "{C} in my nightmare.",
    "Chapter nine, where {c}, is the best one.",
    "Were it so that {c}, the bank would have called.",
    "Let us pretend {c}.",
    "Picture a world in which {c}.",
    "(Fiction) {C}.",
    "My horoscope: {c}.",
    "The phishing page greets you with '{C}' on top.",
    "{C}. Not!",
    "{C}. This was debunked in May.",
    "This is only a thought experiment. {C}.",
    "Bob told me a story. {C}.",
    "They made it up: {c}, and the vault is empty.",
    "{C} and pigs can fly.",
    "> {C}.",
)

LATER_TRICKS = (
    "They want us to believe {c}.",
    "{C} (source: my cousin).",
    "Psst, {c}.",
    "{C}? Hardly.",
    "{C} /s",
    "~~{C}~~",
    "<del>{C}</del>",
    "{C}. April Fools!",
    "{C}. I made that up.",
    "{C}. Or so I was told.",
    "{C}. At least that is what Mallory thinks.",
    "{C}. Mallory said that.",
    "{C}. Bob laughed at the idea.",
    "My dream. {C}.",
    "So I had this dream, and {c}.",
    "I had a dream, and {c}.",
    "Mallory lied, and {c}.",
    "Bob has a fantasy and {c}.",
    "There is a film and {c}.",
    "In Narnia the sun shines and {c}.",
    "Mallory tells everyone the sky fell, and {c}.",
    "To check: {c}.",
    "Draft - {c}.",
    "Example: {c}.",
    "E.g. {c}.",
    "{C}, my foot.",
    "{C}, not.",
    "{C}, I wish.",
    "I wish {c}.",
    "Had we paid, then {c}.",
    "{C}, Bob!, said Mallory.",
    '"Look", said Mallory, "{c}".',
    "Mallory: {c}.",
    "Mallory wrote:\n\n{C}.",
    "Mallory's mail:\n\nHello.\n\n{C}.",
    "On 4 May Mallory wrote:\n> hello\n> {C}.",
    "FALSE\n\n{C}.",
    "The following is false.\n\n{C}.",
    "Common misconceptions\n\n- {C}.",
    "Fake news!\n\n{C}.",
    "Statement under review: {c}; no decision was made.",
    "The headline was {c}; nobody believed it.",
    "The opposite holds; {c} was an error.",
    "Mallory dreamed; {c}.",
    "He was told a lie; {c}.",
    "Not only is it late but {c}.",
    "It is not the case that Bob left and {c}.",
    "Do not think {c}.",
    "Never assume {c}.",
    "Pretending {c} won the bet.",
    "To say {c} would be too much.",
    "{C} was the lie.",
    "What if {c}.",
    "I bet {c}.",
    "I am sure {c}.",
    "God knows {c}.",
    "Mallory keeps repeating it. {C}.",
    "Mallory had one message. {C}.",
    "Mallory's version goes like this. {C}.",
    "I read the wildest thing online. {C}.",
    "The chatbot hallucinated again. {C}.",
    "The test fixture is fine. {C}.",
    "{C}. End of the joke.",
    "{C}. None of this is true.",
    "{C}. Everything here is invented.",
    "{C}. Mallory made this up.",
    "{C}. Of course I am kidding.",
    "{C}. Said no one ever.",
    "{C}. You wish.",
    "{C}. As if.",
    "{C}. In your dreams.",
    "{C}. Yeah right.",
    "{C}. Only in the movie, of course.",
    "{C}… in theory.",
    "{C} in theory.",
    "{C} on paper.",
    "{C} until Friday.",
    "{C} (joke).",
    "[fiction] {C}.",
    "*sarcasm* {C}.",
    "{C} :P",
    "{C} lol",
    "{C} - Mallory",
    "{C} — Mallory",
)

PLAIN = (
    ("{C}.", "{C}."),
    ("Well, {c}.", "{C}."),
    ("And {c}.", "{C}."),
    ("{C}, and Dave paints the fence.", "{C}."),
    ("Dave paints the fence; {c}.", "{C}."),
    ("{C} and Dave paints the fence.", "{C}."),
    ("Dave paints the fence. {C}.", "{C}."),
    ("{C}. Dave paints the fence.", "{C}."),
    ("I like green tea. {C}. My sister lives in Oslo.", "{C}."),
    ("{C} since May 4th, 2026.", "{C} since 2026-05-04."),
    ("My sister confirmed it on Monday and {c}.", "The user's sister confirmed it on Monday and {c}."),
    ("I checked today: {c}.", "The user checked today: {c}."),
    ("Hi! I work here and {c}.", "The user works here and {c}."),
    ("{C}!", "{C}."),
    ("I pay 1,500 EUR a month and {c}.", "The user pays €1500 a month and {c}."),
    ("The film starts at nine. {C}.", "The film starts at nine. {C}."),
    ("I don't eat meat any more. {C}.", "{C}."),
    ("Ann says hello. {C}.", "{C}."),
    ("The office opens at eight.\n\n{C}.", "{C}."),
    ("I moved to Rome with Anna. It is warm there. {C}.", "{C}."),
    ("{C}. The strike ends on Friday.", "{C}."),
    ("Dave turned the other way around. {C}.", "{C}."),
    ("{C}. The correction fluid is empty.", "{C}."),
)

HELD_OUT_PLAIN = (
    ("Good morning, {c}.", "{C}."),
    ("Yes, {c}.", "{C}."),
    ("Also, {c}.", "{C}."),
    ("{C}, but Dave paints the fence.", "{C}."),
    ("We bought a new boat, and {c}.", "{C}."),
    ("{C}. The bus leaves from platform seven.", "{C}."),
    ("I have two cats. Their names are Tom and Kit. {C}.", "{C}."),
    ("My brother and I painted the hall. {C}.", "{C}."),
    ("{C} as of 4 May 2026.", "{C} as of May 4th, 2026."),
    ("My team meets on Mondays, and {c}.", "The user's team meets on Mondays, and {c}."),
    ("I watched a film on Sunday. {C}.", "{C}."),
    ("I signed the papers in June, so {c}.", "The user signed the papers in June, so {c}."),
)

KEPT = (
    ("I don't eat meat any more, and {c}.", "The user doesn't eat meat any more, and {c}."),
    ("Ann says {c}.", "Ann says {c}."),
    ("I dreamed that {c}.", "The user dreamed that {c}."),
    ("My boss denies that {c}.", "The user's boss denies that {c}."),
    ("In my film {c}.", "In the user's film {c}."),
    ("I doubt that {c}.", "The user doubts that {c}."),
    ("If {c}, I will call my bank.", "If {c}, the user will call the user's bank."),
)


class Wording(NamedTuple):
    """A text of evidence, what an extractor states of it, and the template it was made from."""

    template: str
    text: str
    statement: str
    claim: str


def wordings(templates: tuple[str | tuple[str, str], ...]) -> list[Wording]:
    """Each template with each claim. A template alone is a trick: its statement is the bare claim."""
    made: list[Wording] = []
    for template in templates:
        text, statement = (template, "{C}.") if isinstance(template, str) else template
        for claim in CLAIMS:
            words = {"c": claim, "C": claim[0].upper() + claim[1:]}
            made.append(Wording(text, text.format(**words), statement.format(**words), words["C"]))
    return made
