"use strict";
(async () => {
  const controls = { text: "search", method: "method", axiom: "axiom", kind: "kind" };
  const field = (name) => document.getElementById(controls[name]);
  const specs = [...document.querySelectorAll("details.spec")];
  const groups = [...document.querySelectorAll("details.group")];
  const opened = new Set([...specs, ...groups].filter((details) => details.open));
  const most = 60; // rows up to which what fits is unfolded by itself

  // The checks of each spec are packed: gzip in base64, a text of HTML for each.
  async function unpack() {
    const text = atob(document.getElementById("packed").textContent.trim());
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }
  const packed = await unpack();
  window.axiomsRun = packed.run;

  function fill(details) {
    const name = details.dataset.piece;
    if (!name || !(name in packed.pieces)) return;
    details.querySelector(":scope > .inside").innerHTML = packed.pieces[name];
    delete packed.pieces[name];
  }
  const fillAll = () => document.querySelectorAll("details[data-piece]").forEach(fill);
  document.addEventListener("toggle", (event) => event.target.open && fill(event.target), true);
  document.querySelectorAll("details[data-piece][open]").forEach(fill);

  let rows = null; // every check, once something is looked for
  function everyRow() {
    if (rows) return rows;
    specs.forEach(fill);
    rows = specs.flatMap((spec) => [...spec.querySelectorAll(".checks tbody tr")].map((row) => ({
      row, spec, words: `${spec.dataset.name} ${spec.dataset.claim} ${row.textContent}`.toLowerCase(),
    })));
    return rows;
  }

  function fits({ row, words }, wanted) {
    const { method, axiom, kind } = row.dataset;
    return (!wanted.method || wanted.method === method || wanted.method === row.dataset.base)
      && (!wanted.axiom || wanted.axiom === axiom) && (!wanted.kind || wanted.kind === kind)
      && (!wanted.text || words.includes(wanted.text.toLowerCase()));
  }

  function showAll() {
    for (const { row } of rows ?? []) row.hidden = false;
    for (const details of [...specs, ...groups]) { details.hidden = false; details.open = opened.has(details); }
    for (const spec of specs) spec.querySelector(".fits").textContent = "";
    document.getElementById("matches").textContent = `${specs.length.toLocaleString("en")} specs and subjects`;
  }

  function apply() {
    const wanted = Object.fromEntries(Object.keys(controls).map((name) => [name, field(name).value.trim()]));
    const chosen = Object.entries(wanted).filter(([, value]) => value);
    const hash = chosen.length ? `#?${new URLSearchParams(chosen)}` : location.hash.startsWith("#?") ? "#specs" : null;
    if (hash !== null && hash !== location.hash) history.replaceState(null, "", hash);
    if (!chosen.length) return showAll();
    const counts = new Map(specs.map((spec) => [spec, 0]));
    let count = 0;
    for (const entry of everyRow()) {
      entry.row.hidden = !fits(entry, wanted);
      if (!entry.row.hidden) { counts.set(entry.spec, counts.get(entry.spec) + 1); count += 1; }
    }
    for (const spec of specs) {
      spec.hidden = counts.get(spec) === 0;
      spec.open = !spec.hidden && count <= most;
      spec.querySelector(".fits").textContent = spec.hidden ? "" : `${counts.get(spec)} fit`;
    }
    for (const group of groups) group.open = !(group.hidden = !group.querySelector("details.spec:not([hidden])"));
    const among = specs.filter((spec) => !spec.hidden).length;
    document.getElementById("matches").textContent =
      `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} checks, in ${among} of ${specs.length} specs and subjects`;
  }

  for (const name of Object.keys(controls)) field(name).addEventListener("input", apply);
  document.getElementById("reset").addEventListener("click", () => {
    for (const name of Object.keys(controls)) field(name).value = "";
    apply();
  });
  document.getElementById("matrix")?.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("fold")) {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      for (const row of document.querySelectorAll(`tr.${button.dataset.rows}`)) row.hidden = !open;
      return;
    }
    read(new URLSearchParams({ method: button.dataset.method, axiom: button.dataset.axiom }));
    document.getElementById("specs").scrollIntoView();
    field("method").focus({ preventScroll: true });
  });

  function read(wanted) {
    for (const name of Object.keys(controls)) {
      const value = wanted.get(name) ?? "", control = field(name);
      if (control.tagName === "SELECT" && ![...control.options].some((option) => option.value === value)) {
        control.add(new Option(value, value));
      }
      control.value = value;
    }
    apply();
  }

  // A filter in the address is applied; a link into something that is folded away unfolds it.
  function follow() {
    if (location.hash.startsWith("#?")) {
      read(new URLSearchParams(location.hash.slice(2)));
      document.getElementById("specs").scrollIntoView();
      return;
    }
    const name = location.hash && decodeURIComponent(location.hash.slice(1));
    if (!name) return;
    if (!document.getElementById(name)) fillAll();
    const target = document.getElementById(name);
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") { at.hidden = false; at.open = true; }
    if (target.id.startsWith("term-")) target.focus({ preventScroll: true });
    target.scrollIntoView();
    // The browser looked for it before it was there: it is the target from now on.
    document.querySelector(".target")?.classList.remove("target");
    if (target.matches("dt, .source li")) target.classList.add("target");
  }
  addEventListener("hashchange", follow);
  if (!location.hash.startsWith("#?")) apply();
  follow();
  document.documentElement.dataset.ready = "yes";
})();
