// Lines over time, drawn by uPlot; beside them the same in words and as a table. And a line as small as a word.

import uPlot from '../vendor/uplot.js';
import { html, useLayoutEffect, useRef, useState } from '../core/view.js';
import { clock, moment } from '../core/format.js';
import { extremes, isolated, shown, summary, timeLabel, uprightRange } from './plotNumbers.js';
import { Table } from './table.js';

const HEIGHT = 150;
const DASHES = [undefined, [7, 4], [2, 3]];
const DAY = 86_400_000;
const HALF_LABEL = 28;
const PADDING = 8;

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {import('./plotNumbers.js').Values} values one for each time
 * @property {string} colour a variable of tokens.css
 */

/**
 * @typedef {object} PlotProps
 * @property {string} title
 * @property {readonly number[]} times milliseconds since the epoch
 * @property {Line[]} lines
 * @property {[number, number]} span from when to when
 * @property {(value: number) => string} format
 * @property {(value: number) => string} [label] of the axis, where it is shorter
 * @property {number[]} [steps] between the labels of the axis
 * @property {number} [top] a value that is always on the axis
 * @property {boolean} [stepped] a value stays until the next one
 * @property {string} [sync] plots with the same word show the same moment
 */

/** Several lines with one axis. @param {PlotProps} props */
export function Plot(props) {
  const { title, times, lines, span, format } = props;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const latest = useRef(props);
  latest.current = props;
  const [pointed, point] = useState(/** @type {number | null} */ (null));

  useLayoutEffect(() => {
    const node = box.current;
    if (!node) return undefined;
    const drawn = new uPlot(optionsOf(node.clientWidth, latest, point), dataOf(latest.current), node);
    plot.current = drawn;
    const sizes = new ResizeObserver(() => drawn.setSize({ width: node.clientWidth, height: HEIGHT }));
    sizes.observe(node);
    const forgetColours = whenColoursChange(() => drawn.redraw(false));
    return () => {
      sizes.disconnect();
      forgetColours();
      drawn.destroy();
    };
  }, [lines.map(({ name, colour }) => name + colour).join()]);

  useLayoutEffect(() => {
    plot.current?.batch(() => {
      plot.current?.setData(dataOf(props), false);
      plot.current?.setScale('x', { min: span[0], max: span[1] });
    });
  }, [times, span[0], span[1]]);

  const words = lines.map(({ name, values }) => summary(name, values, format)).join('; ');
  return html`<div class="plot">
    <${Legend} lines=${lines} at=${pointed} format=${format} />
    <div class="plot-box" ref=${box} role="img" aria-label=${`${title}. ${words}.`}></div>
    <p class="plot-time muted" aria-hidden="true">${pointed === null ? 'latest' : momentOf(times[pointed])}</p>
    <${Values} title=${title} times=${times} lines=${lines} format=${format} />
  </div>`;
}

/** @param {{lines: Line[], at: number | null, format: (value: number) => string}} props */
function Legend({ lines, at, format }) {
  return html`<ul class="plot-legend" aria-hidden="true">
    ${lines.map(({ name, values, colour }, place) => html`<li key=${name}>
      <svg width="18" height="4"><path d="M0,2H18" stroke=${`var(${colour})`} stroke-width="3" stroke-dasharray=${DASHES[place]?.join(' ')} /></svg>
      ${name} <strong>${shown(at === null ? extremes(values)?.latest : values[at], format)}</strong>
    </li>`)}
  </ul>`;
}

/** @param {number | undefined} time */
function momentOf(time) {
  return time !== undefined && Date.now() - time < DAY ? clock(time) : moment(time);
}

/** The values as a table, made when somebody opens it. @param {{title: string, times: readonly number[], lines: Line[], format: (value: number) => string}} props */
function Values({ title, times, lines, format }) {
  const [open, setOpen] = useState(false);
  const columns = [
    { title: 'Time', cell: (/** @type {number} */ at) => moment(times[at]) },
    ...lines.map(({ name, values }) => ({ title: name, number: true, cell: (/** @type {number} */ at) => shown(values[at], format) })),
  ];
  const rows = times.map((_, at) => times.length - 1 - at);
  return html`<details class="plot-values" onToggle=${(/** @type {Event} */ event) => setOpen(/** @type {HTMLDetailsElement} */ (event.currentTarget).open)}>
    <summary>Values</summary>
    ${open && html`<${Table} caption=${`${title}, newest first`} columns=${columns} rows=${rows} rowKey=${(/** @type {number} */ at) => times[at]} />`}
  </details>`;
}

/** @param {PlotProps} props @returns {any} */
function dataOf({ times, lines }) {
  return [times, ...lines.map(({ values }) => values)];
}

/**
 * @param {number} width
 * @param {{current: PlotProps}} latest what is shown now
 * @param {(at: number | null) => void} point called with the place of the moment that is pointed at
 * @returns {uPlot.Options}
 */
function optionsOf(width, latest, point) {
  const { lines, steps, top, stepped, sync } = latest.current;
  const font = `11px ${colourOf('--sans')}`;
  const axis = { stroke: () => colourOf('--muted'), font, ticks: { show: false } };
  const grid = { stroke: () => colourOf('--line'), width: 1 };
  const paths = stepped ? uPlot.paths.stepped?.({ align: 1 }) : uPlot.paths.linear?.();
  return {
    width,
    height: HEIGHT,
    ms: 1,
    padding: [PADDING, PADDING, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 6 },
      sync: sync === undefined ? undefined : { key: sync, scales: ['x', null] },
    },
    scales: {
      x: { time: true, range: () => latest.current.span },
      y: { range: (_, least, most) => uprightRange(least, most, top) },
    },
    axes: [
      {
        ...axis, grid: { show: false }, size: 26, space: 80,
        values: (u, splits) => splits.map((ms) => (hasRoom(u, ms) ? timeLabel(ms, splits.length > 1 ? splits[1] - splits[0] : 0) : '')),
      },
      {
        ...axis, grid, size: 58, space: 28, ...(steps ? { incrs: steps } : {}),
        values: (_, splits) => splits.map((value) => (latest.current.label ?? latest.current.format)(value)),
      },
    ],
    series: [
      {},
      ...lines.map(({ colour }, place) => ({
        stroke: () => colourOf(colour),
        width: 2,
        dash: DASHES[place],
        paths,
        points: { show: true, size: 4, fill: () => colourOf(colour), filter: (/** @type {uPlot} */ u, /** @type {number} */ at) => isolated(/** @type {(number | null)[]} */ (u.data[at])) },
      })),
    ],
    hooks: { setLegend: [(u) => point(u.cursor.idx ?? null)] },
  };
}

/** Whether the label of a moment is not cut off at the right. @param {uPlot} u @param {number} ms */
function hasRoom(u, ms) {
  return u.valToPos(ms, 'x') < u.bbox.width / devicePixelRatio - HALF_LABEL + PADDING;
}

/** @param {string} name */
function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Calls when the page goes from light to dark or back; gives how to end that. @param {() => void} tell */
function whenColoursChange(tell) {
  const chosen = new MutationObserver(tell);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', tell);
  return () => {
    chosen.disconnect();
    system.removeEventListener('change', tell);
  };
}
