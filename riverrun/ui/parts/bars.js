// Shares as bars, always with their numbers in words for those who cannot see them.

import { html } from '../core/view.js';
import { percent } from '../core/format.js';

/**
 * A value beside the largest of its column, so that skew is seen.
 * @param {{value: number | undefined, most: number, label: string}} props
 */
export function Bar({ value, most, label }) {
  const share = value && most > 0 ? Math.min(1, Math.max(0, value / most)) : 0;
  return html`<span class="bar" role="img" aria-label=${label} title=${label}>
    <span style=${{ width: `${share * 100}%` }}></span>
  </span>`;
}

/**
 * How a task spends its time; the shares add up to at most one.
 * @param {{idle: number, busy: number, backpressured: number}} props
 */
export function TimeSplit({ idle, busy, backpressured }) {
  const words = `busy ${percent(busy)}, back-pressured ${percent(backpressured)}, idle ${percent(idle)}`;
  const width = (/** @type {number} */ share) => ({ width: `${Math.max(0, Math.min(1, share)) * 100}%` });
  return html`<span class="split" role="img" aria-label=${words} title=${words}>
    <span class="busy" style=${width(busy)}></span>
    <span class="backpressured" style=${width(backpressured)}></span>
    <span class="idle" style=${width(idle)}></span>
  </span>`;
}
