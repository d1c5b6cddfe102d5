--- The parts of a flame graph's file that are the same in all of them: style
-- and script. The script needs nothing from outside the file.
-- @module sonde.report.svg_page
local page = {}

--- The family of the font, which has characters of one width.
page.FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"

page.STYLE = [[
text { font-family: ]] .. page.FONT .. [[; font-size: 12px; fill: #1d1d1f }
#title { font-size: 16px; font-weight: 600 }
#notes, #details, #matched { fill: #55555b }
.button { cursor: pointer; fill: #1f5fa8 }
.button:hover { text-decoration: underline }
#frames g { cursor: pointer }
#frames rect { stroke: #ffffff; stroke-width: 0.6; rx: 2px }
#frames text { pointer-events: none }
#frames g:hover rect { stroke: #1d1d1f; stroke-width: 1 }
#frames g.above { opacity: 0.55 }
#frames g.hit rect { fill: #e35bd8 }
#frames g.hidden { display: none }
]]

--- Zooming, searching, details. Boxes stand in the file in preorder, so those
-- below a box follow it until one stands as high as it does.
page.SCRIPT = [==[
"use strict";
(function () {
  var root = document.documentElement;
  var area = document.getElementById("frames");
  var details = document.getElementById("details");
  var matched = document.getElementById("matched");
  var reset = document.getElementById("reset");
  var ROW = Number(area.getAttribute("data-row"));
  var state = { zoom: 0, search: "" };
  var letter = 7.22;

  var boxes = Array.prototype.map.call(area.getElementsByTagName("g"), function (g, i) {
    var rect = g.getElementsByTagName("rect")[0];
    var title = g.getElementsByTagName("title")[0].textContent;
    return {
      i: i, g: g, rect: rect, text: g.getElementsByTagName("text")[0],
      title: title, name: title.replace(/ \([^()]*\)$/, ""),
      x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width")),
      y: Number(rect.getAttribute("y"))
    };
  });
  boxes.forEach(function (box) {
    box.level = Math.round(Math.abs(box.y - boxes[0].y) / ROW);
    box.g.box = box;
  });

  function width() { return Math.max(200, root.getBoundingClientRect().width - 20); }

  function short(name) {
    var words = name.replace(/^[^(<\[ ]*!/, "").replace(/(.)\[[^\[\]]*\]/g, "$1"), before;
    do {
      before = words;
      words = words.replace(/(\w)<[^<>]*>/g, "$1");
    } while (words !== before);
    words = words.slice(0, 1000).replace(/([^.])\(.*$/, "$1").replace(/^.*\//, "");
    return (words.match(/[^.]+\.\.?[^.]+$/) || words.match(/[^:]+::[^:]+$/) || [words])[0] || name;
  }

  function label(box, share) {
    var room = Math.floor((share / 100 * width() - 6) / letter);
    if (room < 3) return "";
    var signs = Array.from(box.name);
    if (signs.length > room) signs = Array.from(short(box.name));
    return signs.length <= room ? signs.join("") : signs.slice(0, room - 1).join("") + "\u2026";
  }

  function place(box, x, w, above) {
    box.g.setAttribute("class", (above ? "above " : "") + (box.hit ? "hit" : ""));
    box.rect.setAttribute("x", x + "%");
    box.rect.setAttribute("width", w + "%");
    box.text.setAttribute("x", x + "%");
    box.text.textContent = label(box, w);
  }

  function draw() {
    var top = boxes[state.zoom], inside = true, level = top.level;
    area.setAttribute("width", width());
    boxes.forEach(function (box) {
      if (box.i > top.i && box.level <= top.level) inside = false;
      if (box.i >= top.i && inside) {
        place(box, (box.x - top.x) / top.w * 100, box.w / top.w * 100, false);
      }
      else box.g.setAttribute("class", "hidden");
    });
    for (var i = top.i - 1; i >= 0; i--) {
      if (boxes[i].level < level) {
        level = boxes[i].level;
        place(boxes[i], 0, 100, true);
      }
    }
  }

  function pattern(words) {
    try { return new RegExp(words); }
    catch (error) { return new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")); }
  }

  function mark() {
    var wanted = state.search ? pattern(state.search) : null, share = 0, skip = Infinity;
    boxes.forEach(function (box) {
      box.hit = wanted !== null && wanted.test(box.name);
      if (box.level <= skip) skip = Infinity;
      if (box.hit && skip === Infinity) {
        share += box.w;
        skip = box.level;
      }
    });
    matched.textContent = wanted ? "matched " + share.toFixed(2) + "% of all" : "";
    reset.setAttribute("visibility", wanted || state.zoom ? "visible" : "hidden");
  }

  function show() {
    mark();
    draw();
  }

  function remember() {
    var parts = [];
    if (state.zoom) parts.push("zoom=" + state.zoom);
    if (state.search) parts.push("search=" + encodeURIComponent(state.search));
    try { history.replaceState(null, "", parts.length ? "#" + parts.join("&") : "#"); }
    catch (error) { location.hash = parts.join("&"); }
    show();
  }

  function recall() {
    state = { zoom: 0, search: "" };
    location.hash.slice(1).split("&").forEach(function (part) {
      var at = part.indexOf("="), value = part.slice(at + 1);
      if (part.slice(0, at) === "zoom" && boxes[Number(value)]) state.zoom = Number(value);
      try { if (part.slice(0, at) === "search") state.search = decodeURIComponent(value); }
      catch (error) { state.search = ""; }
    });
    show();
  }

  function ask() {
    var words = prompt("Search names (a regular expression):", state.search);
    if (words === null) return;
    state.search = words;
    remember();
  }

  function clear() {
    state = { zoom: 0, search: "" };
    remember();
  }

  function box_of(target) {
    while (target && target !== area && !target.box) target = target.parentNode;
    return target && target.box || null;
  }

  area.addEventListener("click", function (event) {
    var box = box_of(event.target);
    if (!box) return;
    state.zoom = box.i;
    remember();
  });
  area.addEventListener("mouseover", function (event) {
    var box = box_of(event.target);
    details.textContent = box ? box.title : "";
  });
  area.addEventListener("mouseout", function () { details.textContent = ""; });
  document.getElementById("search").addEventListener("click", ask);
  reset.addEventListener("click", clear);
  window.addEventListener("keydown", function (event) {
    var find = event.key === "/" || event.key === "f" && (event.ctrlKey || event.metaKey);
    if (find) event.preventDefault();
    if (find) ask();
    if (event.key === "Escape") clear();
  });
  window.addEventListener("hashchange", recall);
  window.addEventListener("resize", show);

  root.setAttribute("width", "100%");
  if (boxes[0].text.textContent) {
    letter = boxes[0].text.getComputedTextLength() / boxes[0].text.textContent.length || letter;
  }
  recall();
})();
]==]

return page
