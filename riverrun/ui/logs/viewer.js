// One log file: its end first, followed, searched; only the rows in sight are in the document.

import { html, classes, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { bytes, exact } from '../core/format.js';
import { Notice } from '../parts/notice.js';
import { LogDownload } from './download.js';
import { inSight, layOut, rowAt, rowOfByte, TAB } from './layout.js';
import { levelAt } from './levels.js';
import { inParts, nextHit, Search } from './search.js';
import { SearchForm } from './searchForm.js';
import { useReader } from './following.js';
import { useSize } from './size.js';

/** @typedef {import('./window.js').Row} Row */
/** @typedef {import('./search.js').Hit} Hit */
/** @typedef {import('./window.js').LogWindow} LogWindow */

const LINE_PX = 18;
const SPARE_LINES = 30;
const NARROW = '(max-width: 760px)';

/** @param {{path: string, file: string}} props path: where the file is read */
export function LogViewer({ path, file }) {
  const [following, setFollowing] = useState(true);
  const [wrapped, setWrapped] = useState(() => matchMedia(NARROW).matches);
  const [words, setWords] = useState('');
  const [current, setCurrent] = useState(/** @type {Hit | null} */ (null));
  const view = useView(wrapped);
  const reader = useReader(path, following, view.isAtEnd);
  const { rows, version } = reader.window;

  const search = useMemo(() => new Search(words), [words]);
  const { hits, hasMore } = useMemo(() => search.hits(rows), [search, version]);
  const layout = useMemo(() => layOut(rows, view.columns), [rows, version, view.columns]);
  view.usePlace(reader.window, layout, following);

  const show = (/** @type {Hit | null} */ hit) => {
    setCurrent(hit);
    if (hit) view.show(rowOfByte(rows, hit.at));
  };
  const seek = (/** @type {string} */ text) => {
    setWords(text);
    show(nextHit(new Search(text).hits(rows).hits, null, 1, view.firstByte()));
  };
  const toEnd = async () => {
    await reader.look(true);
    view.toEnd();
  };
  const below = view.below(reader.window);

  return html`<div class="log">
    <div class="log-tools">
      <${SearchForm} ...${{ file, words, hits, hasMore, current, reader, search }} change=${seek}
        step=${(/** @type {1 | -1} */ step) => show(nextHit(hits, current, step, view.firstByte()))}
        found=${() => show(search.hits(reader.window.rows).hits[0] ?? null)} field=${view.field} />
      <div class="buttons">
        <label class="check"><input type="checkbox" checked=${following} onChange=${() => setFollowing(!following)} />Follow</label>
        <label class="check"><input type="checkbox" checked=${wrapped} onChange=${() => setWrapped(!wrapped)} />Wrap lines</label>
        <${LogDownload} path=${path} file=${file} size=${reader.window.size} />
      </div>
    </div>
    <${Where} reader=${reader} />
    ${reader.problem && html`<${Notice} tone="wait">This log cannot be read now: ${reader.problem}${following ? ' It is tried again by itself.' : ''}<//>`}
    <div class="log-frame">
      <div class=${classes('log-box', wrapped && 'wrapped')} ref=${view.box} tabindex="0" role="region" aria-label=${`Lines of ${file}`}
        onScroll=${view.scrolled} onKeyDown=${view.pressed} style=${{ '--log-line': `${LINE_PX}px`, '--log-tab': TAB }}>
        <${Lines} ...${{ rows, layout, view, search, current, wrapped }} />
        ${reader.isOpen && rows.length === 0 && html`<p class="muted">Nothing was written to this file yet.</p>`}
        <span class="log-measure" ref=${view.measure} aria-hidden="true">0000000000</span>
      </div>
      ${below && html`<button type="button" class="button primary log-more" onClick=${toEnd}>${below === 'new' ? 'New lines below' : 'To the end'} ↓</button>`}
    </div>
  </div>`;
}

/** @param {{reader: import('./reader.js').LogReader}} props */
function Where({ reader }) {
  const { start, end, size } = reader.window;
  const [loading, setLoading] = useState(false);
  if (!reader.isOpen) return reader.problem ? null : html`<p class="muted" role="status">Reading the log …</p>`;
  const load = async () => {
    setLoading(true);
    await reader.earlier();
    setLoading(false);
  };
  return html`<div class="log-where">
    <span class="muted">${partInWords(start, end, size)} · ${exact(reader.window.rows.length)} lines</span>
    ${reader.anew > 0 && html`<span class="badge wait">began anew: what stood here before is in another file or gone</span>`}
    ${reader.hasEarlier && html`<button type="button" class="button small" disabled=${loading} onClick=${load}>${loading ? 'Loading …' : 'Load earlier lines'}</button>`}
  </div>`;
}

/** @param {number} start @param {number} end @param {number} size */
function partInWords(start, end, size) {
  if (end < size) return `${bytes(start)} to ${bytes(end)} of ${bytes(size)}`;
  return start === 0 ? `All of ${bytes(size)}` : `The last ${bytes(end - start)} of ${bytes(size)}`;
}

/**
 * @param {{rows: Row[], layout: import('./layout.js').Layout, view: View, search: Search, current: Hit | null, wrapped: boolean}} props
 */
function Lines({ rows, layout, view, search, current, wrapped }) {
  const { tops, widest } = layout;
  const { first, last } = inSight(tops, view.line, view.lines, SPARE_LINES);
  const room = (/** @type {number} */ lines) => ({ height: `${lines * LINE_PX}px` });
  return html`<div style=${{ minWidth: wrapped ? undefined : `${widest + 2}ch` }}>
    <div style=${room(tops[first])}></div>
    ${rows.slice(first, last).map((row, at) => html`<${Line} key=${row.at} row=${row} level=${levelAt(rows, first + at)}
      places=${search.places(row)} current=${current?.at === row.at ? current.from : -1} />`)}
    <div style=${room(tops[rows.length] - tops[last])}></div>
  </div>`;
}

/** @param {{row: Row, level: import('./levels.js').Level, places: [number, number][], current: number}} props */
function Line({ row, level, places, current }) {
  const parts = places.length === 0 ? row.text : inParts(row.text, places).map(({ text, from, found }) =>
    found ? html`<mark key=${from} class=${classes(from === current && 'current')}>${text}</mark>` : text);
  return html`<div class=${classes('log-line', level !== 'plain' && `log-${level}`)}>${parts || ' '}</div>`;
}

/** @typedef {ReturnType<typeof useView>} View */
/** @typedef {{rows: Row[], tops: Uint32Array, end: number, isLast: boolean}} Drawn isLast: the file ends there */

/**
 * Where the reader is in the box of lines. It stays there when rows come or go above, and at the end when new
 * ones are followed.
 * @param {boolean} wrapped
 */
function useView(wrapped) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const measure = useRef(/** @type {HTMLSpanElement | null} */ (null));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [line, setLine] = useState(0);
  const size = useSize(box, measure);
  const columns = wrapped && size.character > 0 ? Math.max(20, Math.floor(size.width / size.character)) : Infinity;
  const lines = Math.ceil(size.height / LINE_PX);
  const at = useRef({ end: true, row: 0, offset: 0, seen: 0 });
  const drawn = useRef(/** @type {Drawn} */ ({ rows: [], tops: new Uint32Array(1), end: 0, isLast: true }));

  const scrolled = () => {
    const node = box.current;
    if (!node) return;
    const { rows, tops, end, isLast } = drawn.current;
    const isAtEnd = isLast && node.scrollTop + node.clientHeight >= node.scrollHeight - LINE_PX;
    const first = rowAt(tops, node.scrollTop / LINE_PX);
    const seen = isAtEnd ? end : Math.max(at.current.seen, at.current.end ? end : 0);
    at.current = { end: isAtEnd, row: rows[first]?.at ?? 0, offset: node.scrollTop - tops[first] * LINE_PX, seen };
    setLine(Math.floor(node.scrollTop / LINE_PX));
  };
  return {
    box,
    measure,
    field,
    line,
    lines,
    columns,
    scrolled,
    isAtEnd: () => at.current.end,
    firstByte: () => at.current.row,

    /** Keep the reader's place after a change. @param {LogWindow} window @param {import('./layout.js').Layout} layout @param {boolean} following */
    usePlace({ rows, version, end, size: all }, { tops }, following) {
      drawn.current = { rows, tops, end, isLast: end === all };
      useLayoutEffect(() => {
        const node = box.current;
        if (!node) return;
        if (at.current.end && following) node.scrollTop = node.scrollHeight;
        else node.scrollTop = tops[rowOfByte(rows, at.current.row)] * LINE_PX + at.current.offset;
        scrolled();
      }, [version, columns, size.height]);
    },

    /** Bring a row into the middle. @param {number} index */
    show(index) {
      const node = box.current;
      if (!node) return;
      const top = drawn.current.tops[index] * LINE_PX;
      if (top < node.scrollTop || top + LINE_PX > node.scrollTop + node.clientHeight) {
        node.scrollTop = Math.max(0, top - node.clientHeight / 2);
        scrolled();
      }
    },

    toEnd() {
      at.current.end = true;
      if (box.current) box.current.scrollTop = box.current.scrollHeight;
      scrolled();
    },

    /** What is below that was not seen, or is not loaded. @param {LogWindow} window @returns {'new' | 'more' | ''} */
    below(window) {
      if (at.current.end) return '';
      if (window.size > at.current.seen) return 'new';
      return window.size > window.end ? 'more' : '';
    },

    /**
     * Home and End move at once: the browser's own scrolling reports later, and until then a drawing would take
     * the reader for one who is still at the end.
     * @param {KeyboardEvent} event
     */
    pressed(event) {
      if (!box.current || event.ctrlKey || event.metaKey || event.altKey) return;
      const { key } = event;
      if (key === '/') field.current?.focus();
      else if (key === 'Home' || key === 'End') {
        box.current.scrollTop = key === 'Home' ? 0 : box.current.scrollHeight;
        scrolled();
      } else return;
      event.preventDefault();
    },
  };
}
