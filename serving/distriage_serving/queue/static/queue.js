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

  // Those whose rows are ticked, or all that match the filters.
  const isWhole = () => one("[data-whole]")?.checked;
  const count = () => (isWhole() ? Number(one("[data-whole]").value) : selected().length);

  function showSelection() {
    all("[data-selected]").forEach((output) => { output.value = `${count().toLocaleString("en")} selected`; });
    all(".bulk").forEach((bar) => { bar.hidden = !selected().length; });
    all("[data-all]").forEach((box) => { box.checked = selected().length > 0 && selected().length === rows().length; });
    all(".whole").forEach((label) => { label.hidden = rows().length >= Number(one("input", label).value); });
    all("[data-seen]").forEach((button) => { button.disabled = isWhole(); });
  }

  function selectCurrent() {
    const row = current();
    if (!selected().length && row) one("input", row).checked = true;
    showSelection();
    return selected().length;
  }
  function selectAll() {
    const whole = one(".whole:not([hidden]) input");
    if (!whole) return one("[data-all]")?.click();
    if (!selected().length && !current()) step(0);
    if (selectCurrent()) whole.click();
  }
  const decideRows = (action) => selectCurrent() && one(`#bulk button[value=${action}]`).click();

  // Many at once are decided only after a question.
  const ASK_FROM = 6;
  const named = (element) => element.firstChild.textContent.trim();
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.id !== "bulk" || count() < ASK_FROM) return;
    const menu = event.submitter.closest("[data-menu]");
    const how = menu ? ` (${one("select", menu)?.selectedOptions[0].text ?? named(event.submitter)})` : "";
    const what = named(menu ? one("summary", menu) : event.submitter);
    if (confirm(`${what} ${count().toLocaleString("en")} issues${how}?`)) return;
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

  // What a form held when the login ended is put back after it: the next page of an issue or a list drops it.
  const DRAFT = "distriage-draft";
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("#verdict, .ask form")) return;
    sessionStorage.setItem(DRAFT, JSON.stringify([location.pathname, [...new FormData(event.target)]]));
  });
  function putBack() {
    if (!one("#undo")) return; // the login's page, or one that says what is wrong
    const [path, fields] = JSON.parse(sessionStorage.getItem(DRAFT) ?? "[]");
    sessionStorage.removeItem(DRAFT);
    if (path !== location.pathname) return;
    const draft = new Map(fields);
    const question = one("[data-question]");
    if (question && draft.get("what") === "ask") {
      question.value = draft.get("text");
      question.closest("details").open = true;
    }
    const isSame = (name) => one(`#verdict [name=${name}]`)?.value === draft.get(name);
    if (!isSame("verdict") || !isSame("decided")) return;
    for (const field of all("[data-axis] select")) field.value = draft.get(field.name);
    all("[data-axis] input[type=radio]").filter((radio) => draft.get(radio.name) === radio.value).forEach((radio) => { radio.checked = true; });
    const touched = fields.filter(([name]) => name === "touched").map(([, axis]) => axis);
    all("[data-touched]").filter((field) => touched.includes(field.value)).forEach((field) => { field.disabled = false; });
    const owned = fields.filter(([name]) => name === "own").map(([, label]) => label);
    all("[data-own] input[type=checkbox]").forEach((box) => { box.checked = owned.includes(box.value); });
  }

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
      const chip = one(`[data-chip="${axis.dataset.axis}"]`);
      chip.hidden = left || radio.value === "left-open";
      one("b", chip).textContent = one("[data-chosen]", axis).textContent;
      one("[data-chip-percent]", chip).textContent = one("[data-percent]", axis).textContent;
    }
    const boxes = all("[data-own] input[type=checkbox]");
    all("[data-own-chip]").forEach((chip, place) => {
      chip.hidden = !boxes[place].checked && !boxes[place].defaultChecked;
      chip.classList.toggle("wrong", !boxes[place].checked);
    });
    one("[data-accept-text]").textContent = changed ? "Save" : "Accept";
  }

  // The lines that carried the axis which is looked at: pointed at or, else, open.
  function markLines() {
    const looked = one("[data-axis]:is(:hover, :focus-within)") ?? one("[data-axis][open]");
    all("mark[data-carries]").forEach((mark) => mark.classList.toggle("on", mark.dataset.carries.split(" ").includes(looked?.dataset.axis)));
  }
  document.addEventListener("pointerover", (event) => { // what is cut off is shown whole
    const cell = event.target.closest?.(".title, .what .meta, .said div");
    if (cell && cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent.trim();
  });
  for (const kind of ["pointerover", "focusin", "focusout", "toggle", "htmx:afterSettle"]) document.addEventListener(kind, markLines, true);

  function openAxis(axis) {
    axis.open = true;
    one("summary", axis).focus({ preventScroll: true });
    axis.scrollIntoView({ block: "nearest" });
  }

  // While a menu is open, its own keys act alone: the numbers of its buttons. What can be typed is typed.
  function openMenu(key) {
    const menu = one(`[data-menu="${key}"]`);
    if (!menu || (one("#bulk") && !selectCurrent())) return;
    menu.open = true;
    const field = one("textarea:placeholder-shown, input:enabled:not([type=hidden])", menu);
    (field ?? one("button:enabled, select", menu))?.focus();
  }

  const opened = () => all(":is(.menu, .fold, .ask)[open]");
  const closeMenu = (menu) => { menu.open = false; };
  const openedMenu = () => opened()[0] ?? document.activeElement.closest("form[data-menu]");
  function openFilters() {
    one(".fold").open = true;
    one(".panel select").focus();
  }

  async function copyQuestion() {
    const question = one("[data-question]");
    question.select();
    if (navigator.clipboard) await navigator.clipboard.writeText(question.value);
    else document.execCommand("copy"); // a page that came without TLS has no clipboard
  }

  function choose(number) {
    const axis = axes.find((candidate) => candidate.open);
    const radio = axis && all(".choice > input", axis).find((input) => input.nextElementSibling?.textContent === number);
    if (!radio) return;
    radio.click();
    radio.focus({ preventScroll: true });
  }

  function correct() {
    const at = axes.findIndex((axis) => axis.open || axis.contains(document.activeElement));
    if (axes.length) openAxis(axes[(axes[at]?.open ? at + 1 : Math.max(at, 0)) % axes.length]);
  }

  // ---------------------------------------------------------------- keys
  const follow = (selector) => one(selector)?.click();
  const openThere = (where) => { const link = where && one("[data-github]", where); if (link) open(link.href, "_blank", "noopener,noreferrer"); };
  const onList = { j: () => step(1), k: () => step(-1), x: () => { const row = current(); if (row) one("input", row).click(); },
    a: () => decideRows("accept"), d: () => decideRows("dismiss"), e: () => current() && one("[data-open]", current()).click(),
    X: selectAll, o: () => openThere(current()), "/": () => one("[data-search]").select(), f: openFilters };
  const onIssue = { j: () => follow("[data-next]"), k: () => follow("[data-previous]"), a: () => follow("[data-accept]"), d: () => follow("[data-dismiss]"),
    e: correct, t: () => follow("[data-thread]"), o: () => openThere(document),
    Escape: () => follow("[data-list]") };
  const menus = Object.fromEntries([..."lscpmq"].map((key) => [key, () => openMenu(key)]));
  const onBoth = { ...menus, u: () => one("#undo").requestSubmit(), "?": showHelp };
  const keys = { ...onBoth, ...(one("[data-list]") ? onIssue : one("[data-search]") ? onList : {}) };
  const keysAct = () => localStorage.getItem("distriage-keys") !== "off";

  function showHelp() {
    one("#keys-on").checked = keysAct();
    help().showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (help()?.open !== false) return;
    const writes = event.target.closest("select, textarea, input:not([type=radio], [type=checkbox])");
    const menu = openedMenu();
    if (event.key === "Escape" && opened().length) return opened().forEach((open) => { closeMenu(open); one("summary", open).focus(); });
    if (event.key === "Escape" && (writes || menu)) return document.activeElement.blur();
    if (event.key === "Enter" && event.target.matches(".menu :is(input, select)")) { // the form's own button is another
      event.preventDefault();
      all("button", event.target.closest(".menu")).at(-1).click();
    }
    if (leaving || (event.repeat && !"jk".includes(event.key)) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!keysAct() && event.key !== "?" && event.key !== "Escape") return;
    const button = menu && !writes?.value && all("button:enabled", menu).find((each) => one("kbd", each)?.textContent === event.key);
    const number = /^[1-9]$/.test(event.key) && (() => choose(event.key));
    const act = menu ? button && (() => button.click()) : !writes && (number || (Object.hasOwn(keys, event.key) && keys[event.key]));
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("click", (event) => {
    all(":is(.menu, .fold)[open]").filter((menu) => !menu.contains(event.target)).forEach(closeMenu);
    if (event.target.closest("[data-help]")) showHelp();
    if (event.target.closest("[data-edit]")) correct();
    const copy = event.target.closest("[data-copy]");
    if (copy) copyQuestion().then(() => { copy.textContent = "Copied"; });
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
  // ---------------------------------------------------------------- times and the toast
  const TOAST_MS = 10_000;
  const inZone = (text) => text.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC/g, (_, day, time) =>
    new Date(`${day}T${time}Z`).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
  function showLocalTimes() {
    for (const element of all("[data-time]")) {
      if (element.title) element.title = inZone(element.title);
      if (!element.children.length) element.textContent = inZone(element.textContent);
    }
  }
  setTimeout(() => {
    const toast = one(".toast");
    if (!toast || toast.contains(document.activeElement)) return;
    toast.hidden = true;
    one("[data-undo]")?.removeAttribute("hidden");
  }, TOAST_MS);

  document.addEventListener("htmx:afterSettle", () => { showSelection(); showLocalTimes(); });
  showLocalTimes();
  showSelection();
  putBack();
  showChoices();
})();
