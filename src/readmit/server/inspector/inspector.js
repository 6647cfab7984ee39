// Follows the log: when it moves, the page is fetched again and put in place, unless somebody is filling in a form.
"use strict";
(() => {
  const status = document.getElementById("live");
  if (!status || !window.EventSource) return;
  let known = null;
  const busy = () => {
    const at = document.activeElement;
    return Boolean(at && at.closest("main form")) || [...document.querySelectorAll("main form input:not([type=hidden]), main form textarea")].some(
      (field) => field.value !== field.defaultValue);
  };
  const say = (words) => { status.textContent = words; status.hidden = false; };
  const renew = async (epoch) => {
    if (busy()) { say(`The log moved to epoch ${epoch}. Reload this page to see it.`); return; }
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
    if (!answer.ok) { say(`The log moved to epoch ${epoch}. Reload this page to see it.`); return; }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (!fresh || busy()) return;
    const main = document.getElementById("main");
    const open = new Set([...main.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
    for (const one of fresh.querySelectorAll("details > summary")) {
      if (open.has(one.textContent)) one.parentElement.open = true;
    }
    main.replaceChildren(...fresh.childNodes);
    say(`Up to date with epoch ${epoch}.`);
  };
  const events = new EventSource(status.dataset.live);
  events.addEventListener("epoch", (event) => {
    const epoch = Number(event.data);
    if (known !== null && epoch !== known) renew(epoch);
    known = epoch;
    status.dataset.epoch = String(epoch);
  });
  events.addEventListener("over", () => { events.close(); say("This session is over. Log in again."); });
})();
