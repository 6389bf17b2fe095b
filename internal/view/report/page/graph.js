// The picture of the graph: a canvas with the items of one module, which can be moved, scaled and used by keyboard.

const cell = { width: 268, height: 58, boxWidth: 212, boxHeight: 40 };
let view; // of the graph: which graph, module or neighbourhood, what is selected, the camera

function graphTab(panel) {
  view ??= { graph: 0, module: 0, around: null, hops: 1, selected: null, camera: null };
  const canvas = el('canvas', { tabindex: '0', role: 'application', 'aria-describedby': 'keys',
    'aria-label': 'Graph. The list beside it has the same.' });
  const tools = el('div', { class: 'toolbar graphtools' });
  const side = el('div', { class: 'side' });
  const stage = el('div', { class: 'stage' }, canvas, el('div', { class: 'zoom' },
    button('+', () => zoom(1.3), { 'aria-label': 'Larger' }), button('\u2212', () => zoom(1 / 1.3), { 'aria-label': 'Smaller' }),
    button('Fit', () => { view.camera = null; draw(); })));
  panel.append(tools, el('div', { class: 'graph' }, stage, side),
    el('p', { class: 'hint', id: 'keys' }, 'Arrow keys go from item to item, Enter opens, Escape goes back, + and \u2212 scale, 0 fits.'));
  view.parts = { canvas, tools, side, stage };
  new ResizeObserver(() => draw()).observe(stage);
  pointers(canvas);
  canvas.addEventListener('keydown', graphKeys);
  canvas.addEventListener('focus', () => { if (view.selected === null) select(0); });
  showGraph();
}

const current = () => data.graphs[view.graph];

// modelOf returns the items and edges to draw: of a module, or around a node.
function modelOf() {
  if (view.around !== null) return around(view.around);
  const picture = current().pictures[view.module];
  const items = [];
  const list = picture.i ?? [];
  for (let k = 0; k < list.length; k += 4) {
    items.push({ kind: list[k] % 2 ? 'module' : 'node', beside: list[k] > 1, at: list[k + 1], x: list[k + 2], y: list[k + 3] });
  }
  return { items, edges: pairs(picture.e ?? []) };
}

function pairs(flat) {
  const out = [];
  for (let k = 0; k < flat.length; k += 2) out.push([flat[k], flat[k + 1]]);
  return out;
}

function showGraph(select = null) {
  const model = modelOf();
  model.before = model.items.map(() => []);
  model.after = model.items.map(() => []);
  for (const [a, b] of model.edges) {
    model.after[a].push(b);
    model.before[b].push(a);
  }
  for (const item of model.items) describe(item);
  view.model = model;
  view.camera = null;
  view.selected = select;
  graphTools();
  showSide();
  draw();
}

// describe adds to an item what it is called and what becomes of it.
function describe(item) {
  const g = whole();
  if (item.kind === 'node') {
    item.name = view.around !== null || item.beside ? nodeName(item.at) : g.nodes[item.at].n;
    const list = nodesOf.get(item.at) ?? [];
    item.count = list.length;
    item.fate = fateOfNode(item.at);
    return;
  }
  const [, ...parts] = g.modules[item.at].p.split(/\.?module\./);
  item.name = item.beside ? g.modules[item.at].p : 'module.' + parts[parts.length - 1];
  const inside = moduleTally(item.at);
  item.count = inside.count;
  item.fate = inside.fate;
}

// moduleTally counts the objects in a module and in those that it calls.
const tallies = new Map();
function moduleTally(m) {
  if (tallies.has(m)) return tallies.get(m);
  const g = whole();
  const order = Object.keys(fates);
  const within = g.modules.map((_, i) => {
    for (let up = i; up >= 0; up = g.modules[up].u) if (up === m) return true;
    return false;
  });
  let count = 0;
  let least = order.length;
  g.nodes.forEach((n, i) => {
    if (!within[n.m]) return;
    count += (nodesOf.get(i) ?? []).length;
    const at = order.indexOf(fateOfNode(i));
    if (at >= 0) least = Math.min(least, at);
  });
  const tally = { count, fate: order[least] ?? '' };
  tallies.set(m, tally);
  return tally;
}

// colour returns a colour of the style in a form that a canvas takes.
function colour(name) {
  const probe = document.getElementById('probe');
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// palette returns the colours of the theme.
let known = {};
function palette() {
  const theme = getComputedStyle(document.body).backgroundColor;
  if (known.theme === theme) return known.colours;
  const out = { fates: {} };
  for (const name of ['text', 'muted', 'surface', 'border', 'accent', 'edge', 'soft']) out[name] = colour(name);
  for (const kind of ['add', 'chg', 'del', 'rep', 'fgt', 'oth', 'non']) out.fates[kind] = [colour(kind), colour(kind + '-soft')];
  known = { theme, colours: out };
  return out;
}

// related returns what an item waits for and what waits for it, at any distance.
function related(i) {
  const reach = (start, next) => {
    const seen = new Set([start]);
    const queue = [start];
    while (queue.length) for (const j of next[queue.pop()]) if (!seen.has(j)) {
      seen.add(j);
      queue.push(j);
    }
    return seen;
  };
  return { up: reach(i, view.model.before), down: reach(i, view.model.after) };
}

function fit(width, height) {
  const { items } = view.model;
  let [right, bottom] = [0, 0];
  for (const i of items) {
    right = Math.max(right, i.x);
    bottom = Math.max(bottom, i.y);
  }
  const w = right * cell.width + cell.boxWidth;
  const h = bottom * cell.height + cell.boxHeight;
  const scale = Math.min(1.15, (width - 48) / w, (height - 48) / h);
  view.camera = { scale, x: (width - w * scale) / 2, y: (height - h * scale) / 2 };
}

// draw draws what the camera sees, soon.
function draw() {
  if (!view.pending) {
    view.pending = true;
    requestAnimationFrame(() => {
      view.pending = false;
      if (view.parts.canvas.isConnected) drawNow();
    });
  }
}

function drawNow() {
  const { canvas, stage } = view.parts;
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
  }
  if (!view.camera) fit(width, height);
  const c = canvas.getContext('2d');
  const { scale, x, y } = view.camera;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.translate(x, y);
  c.scale(scale, scale);
  const seen = { left: -x / scale - cell.width, top: -y / scale - cell.height, right: (width - x) / scale, bottom: (height - y) / scale };
  const colours = palette();
  const lit = view.selected === null ? null : related(view.selected);
  drawEdges(c, colours, lit, seen, scale);
  if (scale < 0.22) return drawDots(c, colours, lit, seen);
  view.model.items.forEach((item, i) => {
    const [px, py] = [item.x * cell.width, item.y * cell.height];
    if (px < seen.left || px > seen.right || py < seen.top || py > seen.bottom) return;
    c.globalAlpha = lit && !lit.up.has(i) && !lit.down.has(i) ? 0.25 : item.beside ? 0.7 : 1;
    drawItem(c, colours, item, px, py, i === view.selected, scale);
  });
  c.globalAlpha = 1;
}

// drawDots draws items that are too small to be read, all of one colour at a time.
function drawDots(c, colours, lit, seen) {
  const layers = new Map();
  view.model.items.forEach((item, i) => {
    const [px, py] = [item.x * cell.width, item.y * cell.height];
    if (px < seen.left || px > seen.right || py < seen.top || py > seen.bottom) return;
    const faint = lit && !lit.up.has(i) && !lit.down.has(i);
    const key = (faint ? 'faint ' : '') + fateClass(item.fate);
    if (!layers.has(key)) layers.set(key, []);
    layers.get(key).push([px, py]);
  });
  for (const [key, places] of layers) {
    c.globalAlpha = key.startsWith('faint ') ? 0.25 : 0.85;
    c.fillStyle = colours.fates[key.replace('faint ', '')][0];
    for (const [px, py] of places) c.fillRect(px, py, cell.boxWidth, cell.boxHeight);
  }
  c.globalAlpha = 1;
}

function drawEdges(c, colours, lit, seen, scale) {
  const { items, edges } = view.model;
  const layers = [[colours.edge, lit ? 0.3 : 0.9, []], [colours.accent, 1, []], [colours.fates.chg[0], 1, []]];
  for (const [a, b] of edges) {
    const which = lit && lit.up.has(a) && lit.up.has(b) ? 1 : lit && lit.down.has(a) && lit.down.has(b) ? 2 : 0;
    layers[which][2].push([items[a], items[b]]);
  }
  for (const [style, alpha, list] of layers) {
    c.strokeStyle = style;
    c.globalAlpha = alpha;
    c.lineWidth = (style === colours.edge ? 1.2 : 2) / Math.min(1, scale / 0.22);
    c.beginPath();
    for (const [a, b] of list) {
      const [x1, y1] = [a.x * cell.width + cell.boxWidth, a.y * cell.height + cell.boxHeight / 2];
      const [x2, y2] = [b.x * cell.width, b.y * cell.height + cell.boxHeight / 2];
      if (Math.max(x1, x2) < seen.left || Math.min(x1, x2) > seen.right || Math.max(y1, y2) < seen.top ||
        Math.min(y1, y2) > seen.bottom) continue;
      const bend = Math.max(28, Math.abs(x2 - x1) / 2);
      c.moveTo(x1, y1);
      if (scale < 0.22) {
        c.lineTo(x2, y2);
        continue;
      }
      c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
      c.moveTo(x2 - 6, y2 - 3.5);
      c.lineTo(x2, y2);
      c.lineTo(x2 - 6, y2 + 3.5);
    }
    c.stroke();
  }
}

function drawItem(c, colours, item, x, y, selected, scale) {
  const [strong, soft] = colours.fates[fateClass(item.fate)];
  if (item.kind === 'module' && scale > 0.3) { // a second sheet behind: there is more inside
    c.fillStyle = colours.surface;
    c.strokeStyle = colours.border;
    c.lineWidth = 1;
    c.beginPath();
    c.roundRect(x + 5, y + 5, cell.boxWidth, cell.boxHeight, 8);
    c.fill();
    c.stroke();
  }
  c.fillStyle = item.fate ? soft : colours.surface;
  c.strokeStyle = selected ? colours.accent : item.fate ? strong : colours.border;
  c.lineWidth = selected ? 3 : 1.2;
  c.beginPath();
  c.roundRect(x, y, cell.boxWidth, cell.boxHeight, 8);
  c.fill();
  if (item.beside) c.setLineDash([5, 4]);
  c.stroke();
  c.setLineDash([]);
  if (scale < 0.3) return;
  const sign = item.fate ? fates[item.fate][0] : '\u00b7';
  c.fillStyle = strong;
  c.font = '700 17px ui-monospace, monospace';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.fillText(sign, x + 17, y + cell.boxHeight / 2 + 1);
  c.textAlign = 'left';
  c.fillStyle = colours.text;
  const tail = item.count > 1 ? ' \u00d7' + item.count.toLocaleString('en') : '';
  if (item.kind === 'module') {
    c.font = '600 13px system-ui, sans-serif';
    const count = item.count.toLocaleString('en');
    c.fillText(cut(c, item.name, cell.boxWidth - 58 - 8 * count.length), x + 34, y + cell.boxHeight / 2 + 1);
    c.fillStyle = colours.muted;
    c.font = '12px system-ui, sans-serif';
    c.textAlign = 'right';
    c.fillText(count, x + cell.boxWidth - 12, y + cell.boxHeight / 2 + 1);
    return;
  }
  const dot = item.name.lastIndexOf('.');
  c.font = '11px system-ui, sans-serif';
  c.fillStyle = colours.muted;
  c.fillText(cut(c, item.name.slice(0, dot), cell.boxWidth - 46, true), x + 34, y + 12);
  c.fillStyle = colours.text;
  c.font = '600 13px system-ui, sans-serif';
  c.fillText(cut(c, item.name.slice(dot + 1), cell.boxWidth - 46 - (tail ? 44 : 0)) + tail, x + 34, y + 27);
}

// cut shortens a text to a width, at its beginning or its end.
function cut(c, text, width, front) {
  if (c.measureText(text).width <= width) return text;
  let n = Math.floor((text.length * width) / c.measureText(text).width) - 1;
  return front ? '\u2026' + text.slice(text.length - n) : text.slice(0, n) + '\u2026';
}
