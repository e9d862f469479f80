// The phases of a checkpoint as one stacked bar, with the numbers beside it.

import { html, classes } from '../core/view.js';
import { duration } from '../core/format.js';
import { ORDER, PHASES, splitWords } from './split.js';

/**
 * @param {{split: import('./split.js').Split | null, most?: number, whose?: string}} props
 * most: the time that the whole width stands for
 */
export function SplitBar({ split, most = split?.total ?? 0, whose = '' }) {
  if (!split) return html`<span class="muted">not acknowledged</span>`;
  const words = `${whose}${splitWords(split)}`;
  const width = most > 0 ? split.total / most : 0;
  return html`<span class="phases" role="img" aria-label=${words} title=${words}>
    <span class="phases-whole" style=${{ width: `${Math.max(width * 100, 1)}%` }}>
      ${split.parts.filter(({ share }) => share > 0).map(({ phase, share }) => html`<span key=${phase} class=${`phase-${phase}`} style=${{ width: `${share * 100}%` }}></span>`)}
    </span>
  </span>`;
}

/** The numbers under a bar; phases that took no time are left out. @param {{split: import('./split.js').Split | null}} props */
export function SplitNumbers({ split }) {
  const parts = split?.parts.filter(({ ms }) => ms > 0) ?? [];
  return html`<span class="phase-numbers">
    ${parts.map(({ phase, ms }) => html`<span key=${phase}><i class=${classes('swatch', `phase-${phase}`)}></i>${PHASES[phase].name} ${duration(ms)}</span>`)}
  </span>`;
}

export function PhaseLegend() {
  return html`<ul class="phase-legend" aria-label="Phases of a checkpoint">
    ${ORDER.map((phase) => html`<li key=${phase}><i class=${classes('swatch', `phase-${phase}`)}></i><strong>${PHASES[phase].name}</strong> <span class="muted">${PHASES[phase].about}</span></li>`)}
  </ul>`;
}
