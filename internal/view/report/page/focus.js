// How the graph is used: selection, keys, pointers, the list beside it, and the neighbourhood of a node.

// around returns the neighbourhood of a node: what it waits for on the left, what waits for it on the right.
const mostAround = 400;
function around(node) {
  const after = current().after;
  const needed = after.map(() => []);
  after.forEach((deps, n) => deps?.forEach((d) => needed[d].push(n)));
  const column = new Map([[node, 0]]);
  for (const [next, step] of [[(n) => after[n] ?? [], -1], [(n) => needed[n], 1]]) {
    let edge = [node];
    for (let hop = 1; hop <= view.hops && edge.length; hop++) {
      const found = [];
      for (const n of edge) for (const m of next(n)) if (!column.has(m) && column.size < mostAround) {
        column.set(m, hop * step);
        found.push(m);
      }
      edge = found;
    }
  }
  const least = Math.min(...column.values());
  const heights = new Map();
  for (const c of column.values()) heights.set(c, (heights.get(c) ?? 0) + 1);
  const tallest = Math.max(...heights.values());
  const filled = new Map();
  const place = new Map();
  const items = [...column].map(([n, c], i) => {
    const y = filled.get(c) ?? 0;
    filled.set(c, y + 1);
    place.set(n, i);
    return { kind: 'node', beside: false, at: n, x: c - least, y: y + (tallest - heights.get(c)) / 2 };
  });
  const edges = [];
  for (const n of column.keys()) for (const d of after[n] ?? []) if (place.has(d)) edges.push([place.get(d), place.get(n)]);
  return { items, edges };
}

// focusNode opens the graph at a node.
function focusNode(node) {
  state.tab = 'graph';
  view ??= { graph: 0, module: 0, around: null, hops: 1, selected: null, camera: null };
  if (!current().after[node]) view.graph = data.graphs.length - 1;
  view.around = node;
  update.tab();
  select(0);
  view.parts.side.querySelector('h3')?.focus();
}

function openModule(m) {
  view.module = m;
  view.around = null;
  showGraph();
  say('Module ' + (whole().modules[m].p || 'root'));
}

function graphTools() {
  const { tools } = view.parts;
  tools.replaceChildren();
  if (data.graphs.length > 1) {
    tools.append(choice('Show', String(view.graph), data.graphs.map((g, i) => [String(i), g.name]), (v) => {
      view.graph = Number(v);
      if (view.around !== null && !current().after[view.around]) view.around = null;
      showGraph();
    }));
  }
  const list = whole().nodes.map((_, n) => n).filter((n) => current().after[n]);
  const found = el('datalist', { id: 'nodes' });
  const find = el('input', { type: 'search', list: 'nodes', placeholder: 'Address of a resource', autocomplete: 'off', spellcheck: 'false',
    oninput: () => {
      const text = find.value.toLowerCase();
      const exact = list.find((n) => nodeName(n) === find.value);
      if (exact !== undefined) return focusNode(exact);
      found.replaceChildren(...list.filter((n) => text && nodeName(n).toLowerCase().includes(text)).slice(0, 30)
        .map((n) => el('option', { value: nodeName(n) })));
    },
    onkeydown: (e) => {
      const first = e.key === 'Enter' && list.find((n) => nodeName(n).toLowerCase().includes(find.value.toLowerCase()));
      if (typeof first === 'number') focusNode(first);
    } });
  tools.append(el('label', { class: 'choice wide' }, el('span', {}, 'Focus on'), find), found);
  if (view.around !== null) {
    tools.append(choice('Distance', String(view.hops), [['1', 'one step'], ['2', 'two steps'], ['99', 'everything connected']], (v) => {
      view.hops = Number(v);
      showGraph(0);
    }));
  }
  tools.append(el('nav', { class: 'crumbs', 'aria-label': 'Modules' }, crumbs()));
}

function crumbs() {
  const g = whole();
  const path = [];
  for (let m = view.module; m >= 0; m = g.modules[m].u) path.unshift(m);
  const out = path.map((m, k) => {
    const name = m === 0 ? 'root module' : 'module.' + g.modules[m].p.split('.').pop();
    const here = k === path.length - 1 && view.around === null;
    return [k ? el('span', { 'aria-hidden': 'true' }, ' / ') : '', here ? el('span', { 'aria-current': 'true' }, name) :
      button(name, () => openModule(m), { class: 'link' })];
  });
  if (view.around !== null) out.push(el('span', {}, ' / around ', el('code', {}, nodeName(view.around))));
  return out;
}

const itemWord = (item) => (item.kind === 'module' ? `${item.name}, a module with ${plural(item.count, 'object')}` : item.name) +
  ', ' + (item.fate ? fates[item.fate][1] : 'no change');

function select(i) {
  const item = view.model.items[i];
  if (!item) return;
  view.selected = i;
  const { waits, awaited } = { waits: view.model.before[i].length, awaited: view.model.after[i].length };
  say(`${itemWord(item)}. Waits for ${waits}, awaited by ${awaited}.`);
  reveal(item);
  showSide();
  draw();
}

// reveal moves the camera if an item is out of sight.
function reveal(item) {
  const { stage } = view.parts;
  if (!view.camera) return;
  const { scale } = view.camera;
  const [x, y] = [item.x * cell.width * scale + view.camera.x, item.y * cell.height * scale + view.camera.y];
  if (x < 0 || x > stage.clientWidth - cell.boxWidth * scale) view.camera.x += stage.clientWidth / 2 - x;
  if (y < 0 || y > stage.clientHeight - cell.boxHeight * scale) view.camera.y += stage.clientHeight / 2 - y;
}

function open(i) {
  const item = view.model.items[i];
  if (item?.kind === 'module') return openModule(item.at);
  if (!item) return;
  if (view.around !== item.at) {
    view.around = item.at;
    showGraph(0);
  }
}

// back goes from the neighbourhood of a node to its module, and from a module to the one that calls it.
function back() {
  if (view.around !== null) {
    const node = view.around;
    view.around = null;
    view.module = whole().nodes[node].m;
    showGraph();
    const at = view.model.items.findIndex((item) => item.kind === 'node' && item.at === node);
    if (at >= 0) select(at);
  } else if (view.module > 0) {
    openModule(whole().modules[view.module].u);
  } else {
    view.selected = null;
    showSide();
    draw();
  }
}

function graphKeys(e) {
  const { model, selected } = view;
  const nearest = (list) => list.toSorted((a, b) => Math.abs(model.items[a].y - model.items[selected].y) - Math.abs(model.items[b].y - model.items[selected].y))[0];
  const beside = (step) => {
    const here = model.items[selected];
    return model.items.map((_, i) => i).filter((i) => model.items[i].x === here.x && Math.sign(model.items[i].y - here.y) === step)
      .sort((a, b) => step * (model.items[a].y - model.items[b].y))[0];
  };
  const at = selected ?? 0;
  const acts = {
    ArrowLeft: () => select(nearest(model.before[at])),
    ArrowRight: () => select(nearest(model.after[at])),
    ArrowUp: () => select(beside(-1)),
    ArrowDown: () => select(beside(1)),
    Home: () => select(0),
    End: () => select(model.items.length - 1),
    Enter: () => open(at),
    Escape: back,
    '+': () => zoom(1.3),
    '-': () => zoom(1 / 1.3),
    0: () => { view.camera = null; draw(); },
  };
  if (acts[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    acts[e.key]();
  }
}

function zoom(factor, x = view.parts.stage.clientWidth / 2, y = view.parts.stage.clientHeight / 2) {
  const c = view.camera;
  const scale = Math.min(3, Math.max(0.01, c.scale * factor));
  view.camera = { scale, x: x - ((x - c.x) * scale) / c.scale, y: y - ((y - c.y) * scale) / c.scale };
  draw();
}

function pointers(canvas) {
  let held = null;
  const itemAt = (e) => {
    const { scale, x, y } = view.camera;
    const [px, py] = [(e.offsetX - x) / scale, (e.offsetY - y) / scale];
    return view.model.items.findIndex((i) => px >= i.x * cell.width && px <= i.x * cell.width + cell.boxWidth &&
      py >= i.y * cell.height && py <= i.y * cell.height + cell.boxHeight);
  };
  canvas.addEventListener('pointerdown', (e) => {
    held = { x: e.clientX, y: e.clientY, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', (e) => {
    if (!held) {
      canvas.style.cursor = itemAt(e) < 0 ? 'grab' : 'pointer';
      return;
    }
    const [dx, dy] = [e.clientX - held.x, e.clientY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    held = { x: e.clientX, y: e.clientY, moved: true };
    view.camera.x += dx;
    view.camera.y += dy;
    draw();
  });
  canvas.addEventListener('pointerup', (e) => {
    if (held && !held.moved) {
      const i = itemAt(e);
      if (i >= 0) select(i);
      else {
        view.selected = null;
        showSide();
        draw();
      }
    }
    held = null;
  });
  canvas.addEventListener('pointercancel', () => { held = null; });
  canvas.addEventListener('dblclick', (e) => open(itemAt(e)));
  canvas.addEventListener('wheel', (e) => {
    e.preventDefault();
    zoom(Math.exp(-e.deltaY / 500), e.offsetX, e.offsetY);
  }, { passive: false });
}

// showSide has the same as the picture, as text: the items, or what is selected.
function showSide() {
  const { side } = view.parts;
  const { model, selected } = view;
  side.replaceChildren();
  if (selected === null) {
    const list = el('ul', { class: 'names' });
    side.append(el('h3', { tabindex: '-1' }, plural(model.items.filter((i) => !i.beside).length, 'item')), list);
    growing(list, model.items.map((_, i) => i).filter((i) => !model.items[i].beside), (i) => el('li', {}, itemLink(i)));
    return;
  }
  const item = model.items[selected];
  side.append(el('h3', { tabindex: '-1' }, item.fate ? badge(item.fate, true) : null, ' ', el('code', {}, item.name)));
  if (item.kind === 'module') {
    side.append(el('p', {}, plural(item.count, 'object')), button('Open the module', () => open(selected)));
  } else {
    const objects = (nodesOf.get(item.at) ?? []).filter((i) => isChange(data.objects[i]));
    const first = objects.find((i) => data.objects[i].f) ?? objects[0];
    if (first !== undefined) {
      side.append(el('p', { class: 'why' }, data.objects[first].w ?? ''), ...chain(first),
        el('p', {}, button(objects.length > 1 ? `Show ${plural(objects.length, 'object')} in the list` : 'Show it in the list', () => goTo(first))));
    }
    if (view.around !== item.at) side.append(button('Focus on it', () => open(selected)));
  }
  for (const [word, list] of [['Waits for', model.before[selected]], ['Awaited by', model.after[selected]]]) {
    if (!list.length) continue;
    const names = el('ul', { class: 'names' });
    side.append(el('h4', {}, word), names);
    growing(names, list, (i) => el('li', {}, itemLink(i)), 50);
  }
  side.append(button('Clear the selection', () => {
    view.selected = null;
    showSide();
    draw();
  }));
}

function itemLink(i) {
  const item = view.model.items[i];
  return [item.fate ? badge(item.fate) : null, ' ', button(el('code', {}, item.name), () => {
    select(i);
    view.parts.side.querySelector('h3').focus();
  }, { class: 'link' }), item.count > 1 ? el('span', { class: 'count' }, '\u00d7' + item.count.toLocaleString('en')) : null];
}
