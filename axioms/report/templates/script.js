"use strict";
(() => {
  const controls = { text: "search", method: "method", axiom: "axiom", kind: "kind" };
  const field = (name) => document.getElementById(controls[name]);
  const rows = [...document.querySelectorAll(".checks tbody tr")];
  const specs = [...document.querySelectorAll("details.spec")];
  const opened = new Set(specs.filter((spec) => spec.open));
  const words = new Map(rows.map((row) => {
    const spec = row.closest("details.spec");
    return [row, `${spec.dataset.name} ${spec.dataset.claim} ${row.textContent}`.toLowerCase()];
  }));

  function apply() {
    const wanted = Object.fromEntries(Object.keys(controls).map((name) => [name, field(name).value.trim()]));
    const any = Object.values(wanted).some(Boolean);
    const text = wanted.text.toLowerCase();
    const shown = new Map(specs.map((spec) => [spec, 0]));
    for (const row of rows) {
      const fits = ["method", "axiom", "kind"].every((name) => !wanted[name] || row.dataset[name] === wanted[name]);
      row.hidden = !(fits && (!text || words.get(row).includes(text)));
      if (!row.hidden) shown.set(row.closest("details.spec"), shown.get(row.closest("details.spec")) + 1);
    }
    let count = 0;
    for (const spec of specs) {
      count += shown.get(spec);
      spec.hidden = shown.get(spec) === 0;
      spec.open = any ? shown.get(spec) > 0 && shown.get(spec) <= 400 : opened.has(spec);
    }
    const among = specs.filter((spec) => !spec.hidden).length;
    document.getElementById("found").textContent =
      `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} checks, in ${among} of ${specs.length} specs`;
  }

  for (const name of Object.keys(controls)) field(name).addEventListener("input", apply);
  document.getElementById("reset").addEventListener("click", () => {
    for (const name of Object.keys(controls)) field(name).value = "";
    apply();
  });
  document.getElementById("matrix")?.addEventListener("click", (event) => {
    const cell = event.target.closest("button");
    if (!cell) return;
    field("text").value = field("kind").value = "";
    field("method").value = cell.dataset.method;
    field("axiom").value = cell.dataset.axiom;
    apply();
    document.getElementById("specs").scrollIntoView();
  });

  // A link into something that is folded away unfolds it.
  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();
  apply();
})();
