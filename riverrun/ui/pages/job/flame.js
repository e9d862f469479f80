// Where the time of a vertex goes.

import { html } from '../../core/view.js';

export function FlameTab() {
  return html`<p class="muted">Where the time of a vertex goes.</p>`;
}
