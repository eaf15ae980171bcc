// Filter the claims by verdict, tokenizer and words; without scripts the page shows them all. Open
// what is folded on paper.
"use strict";
(() => {
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const places = [...document.querySelectorAll(".place")];

  function outcomeFits(outcome, verdicts, tokenizer) {
    return verdicts.has(outcome.dataset.verdict) && (!tokenizer || outcome.dataset.tokenizer === tokenizer);
  }

  function filterRow(row, verdicts, tokenizer, words) {
    const text = row.textContent.toLowerCase();
    const worded = words.every((word) => text.includes(word));
    let count = 0;
    for (const outcome of row.querySelectorAll("li")) {
      outcome.hidden = !(worded && outcomeFits(outcome, verdicts, tokenizer));
      count += outcome.hidden ? 0 : 1;
    }
    row.hidden = count === 0;
    return count;
  }

  // Places are folded; a choice unfolds those with something to show.
  function filter(event) {
    const choice = new FormData(form);
    const verdicts = new Set(choice.getAll("verdict"));
    const words = choice.get("words").toLowerCase().split(/\s+/).filter(Boolean);
    let total = 0;
    for (const place of places) {
      const counts = [...place.querySelectorAll(".claim")].map((row) =>
        filterRow(row, verdicts, choice.get("tokenizer"), words));
      const count = counts.reduce((sum, number) => sum + number, 0);
      place.hidden = count === 0;
      if (event) place.open = count > 0;
      total += count;
    }
    shown.textContent = total === 1 ? "1 verdict shown" : `${total} verdicts shown`;
  }

  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folded) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of folded) fold.open = false;
  });
})();
