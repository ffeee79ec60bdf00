"use strict";
// Comfort on top of plain links and forms: keys, selection, the text of the button that saves.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const help = () => one("#help"); // htmx puts in another on the way back
  let leaving = false; // a second key press or click must not decide twice
  document.documentElement.classList.add("js");
  addEventListener("pageshow", () => { leaving = false; });
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (leaving) event.preventDefault();
    leaving = true;
    setTimeout(() => { leaving = false; }, 5000); // who stops the page may try again
  });

  // ---------------------------------------------------------------- list
  const rows = () => all("[data-row]");
  const selected = () => all("[data-row] input:checked");
  const current = () => rows().find((row) => row.contains(document.activeElement));

  function step(by) {
    const list = rows();
    if (!list.length) return;
    const next = list[Math.min(Math.max(list.indexOf(current()) + by, 0), list.length - 1)];
    one("[data-open]", next).focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function showSelection() {
    const count = selected().length;
    all("[data-selected]").forEach((output) => { output.value = `${count} selected`; });
    all(".bulk").forEach((bar) => bar.classList.toggle("has-selection", count > 0));
    all("[data-all]").forEach((box) => { box.checked = count > 0 && count === rows().length; });
  }

  function decideRows(action) {
    const row = current();
    if (!selected().length && row) one("input", row).checked = true;
    if (selected().length) one(`#bulk button[value=${action}]`).click();
  }

  // Many at once are decided only after a question.
  const ASK_FROM = 6;
  document.addEventListener("submit", (event) => {
    const count = selected().length;
    if (event.defaultPrevented || event.target.id !== "bulk" || count < ASK_FROM) return;
    const what = event.submitter?.value === "dismiss" ? "Dismiss" : "Accept";
    if (confirm(`${what} ${count} issues?`)) return;
    event.preventDefault();
    leaving = false;
  });

  // Back leads to the row that one left from: the list's address names it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-row] [data-open]");
    if (!link) return;
    const here = new URL(location.href);
    const [, , owner, name, number] = new URL(link.href).pathname.split("/");
    here.searchParams.delete("after");
    here.searchParams.set("at", `${decodeURIComponent(owner)}/${decodeURIComponent(name)}#${number}`);
    history.replaceState(null, "", here);
  });

  // ---------------------------------------------------------------- issue
  const verdict = one("#verdict");
  const axes = all("[data-axis]");

  function say(element, text) { // null: what it said at first
    element.dataset.before ??= element.textContent;
    element.textContent = text ?? element.dataset.before;
  }

  const isChanged = () => all("[data-own] input, [data-axis] input[type=radio]").some((box) => box.checked !== box.defaultChecked);

  // Whoever leaves what was changed and not saved is asked first; saving it is no leaving.
  let saving = false;
  verdict?.addEventListener("submit", (event) => { saving = !event.defaultPrevented; });
  addEventListener("beforeunload", (event) => {
    if (!saving && isChanged()) event.preventDefault();
    saving = false;
    setTimeout(() => { leaving = false; }); // who stays goes on
  });

  function showChoices() {
    if (!verdict) return;
    const changed = isChanged();
    for (const axis of axes) {
      const radio = one("input:checked", axis);
      if (!radio) continue;
      const isNew = !radio.defaultChecked;
      const left = changed && !isNew && "perhaps" in axis.dataset && one("[data-touched]", axis).disabled;
      axis.classList.toggle("changed", isNew);
      axis.classList.toggle("left", left);
      const other = "other" in radio.dataset ? one("select", axis).selectedOptions[0].textContent : radio.dataset.text;
      say(one("[data-chosen]", axis), isNew ? other : left ? "Left open" : null);
      say(one("[data-percent]", axis), isNew ? radio.dataset.percentText ?? "" : left ? "" : null);
    }
    one("[data-accept-text]").textContent = changed ? "Save correction" : "Accept";
  }

  function openAxis(axis) {
    axis.open = true;
    one("summary", axis).focus({ preventScroll: true });
    axis.scrollIntoView({ block: "nearest" });
  }

  function choose(number) {
    const axis = axes.find((candidate) => candidate.open);
    const radio = axis && all(".choice > input", axis).find((input) => input.nextElementSibling?.textContent === String(number));
    if (!radio) return;
    radio.click();
    radio.focus({ preventScroll: true });
  }

  function correct() {
    if (axes.length) openAxis(axes[(axes.findIndex((axis) => axis.contains(document.activeElement)) + 1 || axes.findIndex((axis) => axis.open) + 1) % axes.length]);
  }

  // ---------------------------------------------------------------- keys
  const follow = (selector) => one(selector)?.click();
  const onList = { j: () => step(1), k: () => step(-1), x: () => { const row = current(); if (row) one("input", row).click(); },
    a: () => decideRows("accept"), d: () => decideRows("dismiss"), e: () => current() && one("[data-open]", current()).click(),
    "/": () => one("[data-search]").select() };
  const onIssue = { j: () => follow("[data-next]"), k: () => follow("[data-previous]"), a: () => follow("[data-accept]"), d: () => follow("[data-dismiss]"),
    e: correct, Escape: () => follow("[data-list]") };
  const onBoth = { u: () => one("#undo").requestSubmit(), "?": showHelp };
  const keys = { ...onBoth, ...(one("[data-list]") ? onIssue : one("[data-search]") ? onList : {}) };
  const keysAct = () => localStorage.getItem("distriage-keys") !== "off";

  function showHelp() {
    one("#keys-on").checked = keysAct();
    help().showModal();
  }

  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest("select, textarea, input:not([type=radio], [type=checkbox])");
    if (help()?.open !== false || writes || leaving || (event.repeat && !"jk".includes(event.key)) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!keysAct() && event.key !== "?" && event.key !== "Escape") return;
    const act = /^[1-9]$/.test(event.key) ? () => choose(Number(event.key)) : Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) showHelp();
    if (event.target.closest("[data-edit]")) correct();
    const axis = event.target.closest("[data-axis] input[type=radio]")?.closest("[data-axis]");
    if (!axis) return;
    one("[data-touched]", axis).disabled = false; // also where its label was chosen already: a person says so
    showChoices();
  });

  document.addEventListener("change", (event) => {
    const target = event.target;
    if (target.id === "keys-on") localStorage.setItem("distriage-keys", target.checked ? "on" : "off");
    if (target.matches("[data-all]")) all("[data-row] input").forEach((box) => { box.checked = target.checked; });
    if (target.matches(".other select")) one("[data-other]", target.closest(".other")).checked = true;
    if (target.closest("[data-submit-on-change]")) target.form.requestSubmit();
    showSelection();
    showChoices();
  });
  document.addEventListener("htmx:afterSettle", showSelection);
  showSelection();
  showChoices();
})();
