// All jobs at a glance.

import { html } from '../core/view.js';

export function Overview() {
  return html`<p class="muted">All jobs at a glance.</p>`;
}
