// Many values as a grid of cells, the higher the darker (or brighter, on dark); a click chooses one.
// A table with the same numbers has to stand beside it: a grid of colours says nothing to who cannot see it.

import { html, classes, useId, useMemo, useState } from '../core/view.js';

const CELL_PX = 34;

/**
 * @typedef {{heat: number | null, words: string}} HeatCell heat: 0 to 100; null: not known
 */

/**
 * @param {{
 *   label: string, cells: HeatCell[], columns: number, outline: string, marked: number | undefined,
 *   choose: (cell: number) => void, low: string, high: string,
 * }} props
 * label: what it shows, for screen readers; outline: a path over the cells, which are one unit wide;
 * low, high: the values at the ends of the scale
 */
export function HeatMap({ label, cells, columns, outline, marked, choose, low, high }) {
  const hatch = useId();
  const [hovered, setHovered] = useState(/** @type {number | undefined} */ (undefined));
  const rows = Math.ceil(cells.length / columns);
  const drawn = useMemo(() => cells.map((cell, at) => html`<${Square} key=${at} at=${at} heat=${cell.heat} columns=${columns} hatch=${hatch} />`), [cells, columns]);
  const shown = hovered ?? marked;
  const cellOf = (/** @type {any} */ event) => (event.target.dataset.cell === undefined ? undefined : Number(event.target.dataset.cell));
  return html`<div class="heat">
    <svg class="heat-map" role="img" aria-label=${label} viewBox=${`-0.06 -0.06 ${columns + 0.12} ${rows + 0.12}`} style=${{ maxWidth: `${columns * CELL_PX}px` }}
      onPointerOver=${(/** @type {any} */ event) => setHovered(cellOf(event))} onPointerLeave=${() => setHovered(undefined)}
      onClick=${(/** @type {any} */ event) => cellOf(event) !== undefined && choose(Number(cellOf(event)))}>
      <defs><${Hatch} id=${hatch} /></defs>
      ${drawn}
      <path class="heat-outline" d=${`M0 0h${columns}v${rows}h${-columns}z${outline}`} />
      ${shown !== undefined && shown < cells.length && html`<rect class=${classes('heat-mark', shown === marked && 'chosen')} x=${shown % columns} y=${Math.floor(shown / columns)} width="1" height="1" />`}
    </svg>
    <div class="heat-below">
      <p class="heat-words">${shown !== undefined && cells[shown] ? cells[shown].words : 'Point at a cell to read it; choose one to see its keys.'}</p>
      <p class="heat-legend"><span>${low}</span><span class="heat-scale" role="img" aria-label=${`Colours from ${low} to ${high}`}></span><span>${high}</span>
        ${cells.some((cell) => cell.heat === null) && html`<svg class="heat-unknown" viewBox="0 0 2 1" aria-hidden="true"><rect width="2" height="1" fill=${`url(#${hatch})`} /></svg><span>not looked at</span>`}</p>
    </div>
  </div>`;
}

/** @param {{at: number, heat: number | null, columns: number, hatch: string}} props */
function Square({ at, heat, columns, hatch }) {
  const style = heat === null ? { fill: `url(#${hatch})` } : { fill: `color-mix(in srgb, var(--heat-high) ${heat}%, var(--heat-low))` };
  return html`<rect data-cell=${at} x=${(at % columns) + 0.03} y=${Math.floor(at / columns) + 0.03} width="0.94" height="0.94" style=${style} />`;
}

/** @param {{id: string}} props */
function Hatch({ id }) {
  return html`<pattern id=${id} width="0.25" height="0.25" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
    <rect class="heat-hatch-back" width="0.25" height="0.25" /><rect class="heat-hatch" width="0.08" height="0.25" />
  </pattern>`;
}
