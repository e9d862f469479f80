// A table that can be sorted by its heads. Long ones draw only the rows that are in sight.

import { html, classes, useEffect, useMemo, useRef, useState } from '../core/view.js';

const LONG = 200;
const ROW_PX = 33;
const SPARE_ROWS = 12;

/**
 * @template R
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: R) => any} cell what is shown
 * @property {(row: R) => string | number | undefined} [by] what rows are sorted by; without it they cannot be
 * @property {boolean} [number] set flush right
 */

/**
 * @param {{
 *   caption: string, columns: Column<any>[], rows: any[], rowKey: (row: any) => string | number,
 *   empty?: any, sorted?: {column: string, down: boolean}, onRow?: (row: any) => string | undefined,
 * }} props
 * caption: what the table lists, for screen readers; onRow: the address that a click on the row opens
 */
export function Table({ caption, columns, rows, rowKey, empty = 'Nothing yet.', sorted }) {
  const [order, setOrder] = useState(sorted);
  const shown = useMemo(() => inOrder(rows, columns, order), [rows, columns, order]);
  const head = html`<thead><tr>${columns.map((column) => html`<${Head} key=${column.title} ...${{ column, order, setOrder }} />`)}</tr></thead>`;
  const row = (/** @type {any} */ item, /** @type {number | undefined} */ place) => html`<tr key=${rowKey(item)} aria-rowindex=${place}>
    ${columns.map((column) => html`<td key=${column.title} data-title=${column.title} class=${classes(column.number && 'number')}>${column.cell(item)}</td>`)}
  </tr>`;
  if (shown.length > LONG) {
    return html`<${LongTable} ...${{ caption, head, row, rows: shown, columns: columns.length }} />`;
  }
  return html`<div class="scroll"><table class="grid">
    <caption class="hidden-words">${caption}</caption>${head}
    <tbody>
      ${shown.map((item) => row(item, undefined))}
      ${shown.length === 0 && html`<tr><td class="empty" colspan=${columns.length}>${empty}</td></tr>`}
    </tbody>
  </table></div>`;
}

/** @param {{column: Column<any>, order: {column: string, down: boolean} | undefined, setOrder: (order: any) => void}} props */
function Head({ column, order, setOrder }) {
  const mine = order?.column === column.title;
  const down = mine && order.down;
  const turn = () => setOrder({ column: column.title, down: mine ? !down : Boolean(column.number) });
  return html`<th scope="col" class=${classes(column.number && 'number')} aria-sort=${mine ? (down ? 'descending' : 'ascending') : undefined}>
    ${column.by
      ? html`<button type="button" onClick=${turn}>${column.title}<span aria-hidden="true">${mine ? (down ? '▾' : '▴') : ''}</span></button>`
      : column.title}
  </th>`;
}

/**
 * Rows of one height, of which only those in sight are in the document.
 * @param {{caption: string, head: any, row: (item: any, place: number) => any, rows: any[], columns: number}} props
 */
function LongTable({ caption, head, row, rows, columns }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [first, setFirst] = useState(0);
  const inSight = 25;
  useEffect(() => {
    const node = box.current;
    if (!node) return undefined;
    const scrolled = () => setFirst(Math.max(0, Math.floor(node.scrollTop / ROW_PX) - SPARE_ROWS));
    node.addEventListener('scroll', scrolled, { passive: true });
    return () => node.removeEventListener('scroll', scrolled);
  }, []);
  const last = Math.min(rows.length, first + inSight + 2 * SPARE_ROWS);
  return html`<div class="scroll tall-box" ref=${box} tabindex="0" role="region" aria-label=${caption} style=${{ maxHeight: `${inSight * ROW_PX}px` }}>
    <table class="grid" aria-rowcount=${rows.length + 1}>
      <caption class="hidden-words">${caption}</caption>${head}
      <tbody>
        <${OutOfSight} key="above" rows=${first} columns=${columns} />
        ${rows.slice(first, last).map((item, at) => row(item, first + at + 2))}
        <${OutOfSight} key="below" rows=${rows.length - last} columns=${columns} />
      </tbody>
    </table>
  </div>`;
}

/** The room of rows that are not in the document. @param {{rows: number, columns: number}} props */
function OutOfSight({ rows, columns }) {
  return html`<tr class="out-of-sight" aria-hidden="true"><td colspan=${columns} style=${{ height: `${Math.max(0, rows) * ROW_PX}px` }}></td></tr>`;
}

/**
 * @template R
 * @param {R[]} rows
 * @param {Column<R>[]} columns
 * @param {{column: string, down: boolean} | undefined} order
 */
export function inOrder(rows, columns, order) {
  const by = columns.find((column) => column.title === order?.column)?.by;
  if (!order || !by) return rows;
  const sign = order.down ? -1 : 1;
  return [...rows].sort((a, b) => sign * compared(by(a), by(b)));
}

/** What is unknown comes first. @param {string | number | undefined} a @param {string | number | undefined} b */
function compared(a, b) {
  if (a === b) return 0;
  if (a === undefined || Number.isNaN(a)) return -1;
  if (b === undefined || Number.isNaN(b)) return 1;
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}
