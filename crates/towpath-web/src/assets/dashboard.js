// Makes pages live, and graphs movable. Every page works without it.
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const root = document.documentElement;
  const base = $("meta[name=base]").content;

  // ---- theme: as the system has it, or as chosen here
  const themes = ["", "dark", "light"];
  const theme = (name) => name ? (root.dataset.theme = name) : delete root.dataset.theme;
  try { theme(localStorage.getItem("towpath-theme") || ""); } catch { /* a browser may forbid storage */ }
  const button = $("#theme");
  const label = () => { button.textContent = "Theme: " + (root.dataset.theme || "system"); };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
    theme(next);
    try { localStorage.setItem("towpath-theme", next); } catch { /* then until the page is left */ }
    label();
  });

  // ---- instants: how long ago, and in the reader's own zone
  const ago = (ms) => {
    const s = Math.round(Math.abs(ms) / 1000);
    const [n, unit] = s < 60 ? [s, "s"] : s < 5400 ? [Math.round(s / 60), "min"] : s < 129600 ? [Math.round(s / 3600), "h"] : [Math.round(s / 86400), "d"];
    return ms >= 0 ? `${n} ${unit} ago` : `in ${n} ${unit}`;
  };
  const drift = Date.now() - Date.parse($("meta[name=now]").content);
  const instants = () => document.querySelectorAll("time[datetime]").forEach((time) => {
    const at = Date.parse(time.dateTime);
    const text = ago(Date.now() - drift - at);
    if (time.textContent !== text) time.textContent = text;
    time.title = new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
  });
  instants();
  setInterval(() => document.hidden || instants(), 5000);

  // ---- morphing: a new region into the old one, keeping what the reader has touched
  const kept = (node) => node.nodeType === 1 && node.hasAttribute("data-keep");
  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.nodeType !== 1 || (a.id || a.getAttribute("data-key")) === (b.id || b.getAttribute("data-key")));
  // What the script has set stays: a style (the server sends none), what is open, what is found or out of sight.
  const ours = ["hit", "out", "on", "far"];
  const attributes = (from, to) => {
    for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS") && name !== "title" && name !== "style" && name !== "class") from.removeAttribute(name);
    for (const { name, value } of to.attributes) {
      if (from.getAttribute(name) === value || name === "class" || (name === "open" && from.nodeName === "DETAILS")) continue;
      from.setAttribute(name, value);
    }
    const keep = ours.filter((name) => from.classList.contains(name)), wanted = [to.getAttribute("class") || "", ...keep].join(" ").trim();
    if ((from.getAttribute("class") || "") !== wanted) from.setAttribute("class", wanted);
  };
  const morph = (from, to) => {
    if (from.nodeType !== 1) { if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue; return; }
    if (kept(from) || from === document.activeElement && /INPUT|SELECT|TEXTAREA/.test(from.nodeName)) return;
    attributes(from, to);
    if (from.nodeName === "TIME") { instants(); return; }
    const byKey = new Map();
    for (const child of from.children) { const key = child.id || child.getAttribute("data-key"); if (key) byKey.set(key, child); }
    let old = from.firstChild;
    for (const wanted of [...to.childNodes]) {
      const key = wanted.nodeType === 1 && (wanted.id || wanted.getAttribute("data-key"));
      const match = key ? byKey.get(key) : old && same(old, wanted) ? old : null;
      if (match && same(match, wanted)) {
        if (match !== old) from.insertBefore(match, old); else old = old.nextSibling;
        morph(match, wanted);
      } else {
        from.insertBefore(document.importNode(wanted, true), old);
      }
    }
    while (old) { const next = old.nextSibling; old.remove(); old = next; }
  };

  // ---- news: one stream says that something has changed; what, the page asks for itself
  const main = $("#main");
  let morphed = () => {};
  let tag = main.dataset.tag, busy = false, again = false, stream = null, last = 0;
  const every = Number(main.dataset.every || 0);
  const status = $("#live");
  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    const wait = last + every - Date.now();
    if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    try {
      const answer = await fetch(location.href, { headers: { "If-None-Match": tag || "", "X-Towpath-Live": "1" } });
      if (answer.status === 200) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = $("#main", page);
        if (fresh) { tag = fresh.dataset.tag; morph(main, fresh); morphed(); instants(); }
      }
    } catch { /* the stream says when the server is back */ }
    last = Date.now();
    busy = false;
    if (again) { again = false; refresh(); }
  };
  const listen = () => {
    if (stream || document.hidden || !main.dataset.live) return;
    stream = new EventSource(base + "/live");
    stream.addEventListener("changed", refresh);
    stream.onopen = () => { status.textContent = "live"; refresh(); };
    stream.onerror = () => { status.textContent = "not connected; trying again"; };
  };
  const pause = () => { if (stream) { stream.close(); stream = null; status.textContent = "paused"; } };
  document.addEventListener("visibilitychange", () => { if (document.hidden) pause(); else { listen(); refresh(); } });
  addEventListener("pagehide", pause);
  addEventListener("pageshow", (event) => { if (event.persisted) { listen(); refresh(); } });
  listen();

  // ---- menus of actions: one at a time, closed by Escape and by a click elsewhere
  document.addEventListener("click", (event) => document.querySelectorAll("details.act[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; }));

  // ---- keys
  const places = { o: "/", j: "/jobs", g: "/graphs", r: "/runs", s: "/schedules", q: "/queues", c: "/charts", w: "/workers", d: "/jobs?state=dead", a: "/audit" };
  let go = 0;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { document.querySelectorAll("details.act[open]").forEach((menu) => { menu.open = false; $("summary", menu).focus(); }); }
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.nodeName)) return;
    if (event.key === "/") { event.preventDefault(); ($("#search") || $("#find")).focus(); }
    else if (event.key === "g" && Date.now() - go > 1000) go = Date.now();
    else if (Date.now() - go < 1000 && places[event.key]) { location.href = (base + places[event.key]).replace(/\/$/, "") || "/"; }
  });

  // ---- a graph: moved, scaled within limits, searched. It is moved by a transform of the whole, since a browser would lay
  // out all its letters again for another viewBox.
  const view = $(".view"), map = $("svg.map");
  if (!map) return;
  let whole;
  const box = { x: 0, y: 0, width: 1, height: 1 };
  // Parts out of sight are left out, and letters that nobody could read: a browser would draw both.
  const cull = () => {
    const { x, y, width, height } = box;
    map.classList.toggle("far", width > view.clientWidth * 3.2);
    for (const part of map.querySelectorAll("[data-box]")) {
      const [left, top, right, bottom] = part.dataset.box.split(" ").map(Number);
      part.classList.toggle("out", right < x - width / 2 || left > x + width * 1.5 || bottom < y - height / 2 || top > y + height * 1.5);
    }
  };
  const size = () => {
    whole = map.dataset.size.split(" ").map(Number);
    map.style.width = whole[0] + "px";
    map.style.height = whole[1] + "px";
  };
  const most = () => whole[0] * 1.6 + 400;
  const set = (x, y, w) => {
    w = Math.min(Math.max(w, 160), Math.max(most(), whole[1] * 2 * view.clientWidth / view.clientHeight));
    const h = w * view.clientHeight / view.clientWidth, k = view.clientWidth / w;
    box.x = Math.min(Math.max(x, -w * 0.7), whole[0] - w * 0.3);
    box.y = Math.min(Math.max(y, -h * 0.7), whole[1] - h * 0.3);
    box.width = w;
    box.height = h;
    map.style.transform = `translate(${(-box.x * k).toFixed(1)}px, ${(-box.y * k).toFixed(1)}px) scale(${k.toFixed(4)})`;
    cull();
  };
  const scale = (factor, at) => {
    const { x, y, width, height } = box, area = view.getBoundingClientRect();
    const fx = at ? (at.clientX - area.left) / area.width : 0.5, fy = at ? (at.clientY - area.top) / area.height : 0.5;
    const w = Math.min(Math.max(width * factor, 160), most());
    set(x + (width - w) * fx, y + (height - height * w / width) * fy, w);
  };
  const fit = () => { const ratio = view.clientHeight / view.clientWidth, w = Math.max(whole[0], whole[1] / ratio) + 40; set((whole[0] - w) / 2, (whole[1] - w * ratio) / 2, w); };
  view.addEventListener("wheel", (event) => { event.preventDefault(); scale(event.deltaY > 0 ? 1.15 : 1 / 1.15, event); }, { passive: false });
  const fingers = new Map();
  let way = 0;
  view.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, event); way = 0; });
  view.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const unit = box.width / view.clientWidth;
    if (fingers.size === 2) {
      const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
      const far = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1;
      scale(far(before, other) / far(event, other), other);
    } else {
      const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
      way += Math.abs(dx) + Math.abs(dy);
      if (way > 4) { view.setPointerCapture(event.pointerId); set(box.x - dx * unit, box.y - dy * unit, box.width); }
    }
    fingers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) view.addEventListener(end, (event) => fingers.delete(event.pointerId));
  view.addEventListener("click", (event) => { if (way > 4) event.preventDefault(); }, true);
  view.addEventListener("dragstart", (event) => event.preventDefault());
  view.addEventListener("keydown", (event) => {
    const step = box.width / 8, by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    if (by) { event.preventDefault(); set(box.x + by[0], box.y + by[1], box.width); }
    if (event.key === "+" || event.key === "-") scale(event.key === "+" ? 1 / 1.3 : 1.3);
    if (event.key === "0") fit();
  });
  document.querySelectorAll("[data-zoom]").forEach((control) => {
    control.hidden = false;
    control.addEventListener("click", () => control.dataset.zoom === "fit" ? fit() : scale(control.dataset.zoom === "in" ? 1 / 1.3 : 1.3));
  });
  const place = (node) => ["x", "y", "width", "height"].map((name) => Number($("rect:last-of-type", node).getAttribute(name)));
  const show = (node) => {
    const [x, y, width, height] = place(node), w = Math.min(box.width, Math.max(view.clientWidth, 600));
    set(x + width / 2 - w / 2, y + height / 2 - w * view.clientHeight / view.clientWidth / 2, w);
  };
  // Who goes through the nodes by the keyboard sees where they are.
  view.addEventListener("focusin", (event) => {
    const node = event.target.closest("a[data-name]");
    if (!node || !node.matches(":focus-visible")) return;
    const [x, y, width, height] = place(node);
    if (x < box.x || y < box.y || x + width > box.x + box.width || y + height > box.y + box.height) show(node);
  });
  const search = $("#search"), found = $("#found");
  let at = -1;
  const look = (next) => {
    const text = search.value.trim().toLowerCase();
    map.querySelectorAll(".hit").forEach((node) => node.classList.remove("hit"));
    const hits = text ? [...map.querySelectorAll("a[data-name]")].filter((node) => node.dataset.name.toLowerCase().includes(text)) : [];
    hits.forEach((node) => node.classList.add("hit"));
    found.textContent = text ? `${hits.length} found` : "";
    if (!hits.length) return;
    at = next ? (at + 1) % hits.length : 0;
    show(hits[at]);
  };
  search.parentElement.hidden = false;
  search.addEventListener("input", () => look(false));
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); look(true); } });
  map.querySelectorAll("[data-box]").forEach((part) => part.classList.add("out"));
  view.style.height = Math.min(Number(map.getAttribute("height")), innerHeight * 0.68, 740) + "px";
  view.classList.add("on");
  size();
  if (whole[0] > view.clientWidth * 1.7 || whole[1] > view.clientHeight * 1.7) set(-20, Math.max((whole[1] - view.clientHeight * 1.3) / 2, -20), view.clientWidth * 1.3); else fit();
  addEventListener("resize", () => set(box.x, box.y, box.width));
  morphed = () => { size(); cull(); };
})();
