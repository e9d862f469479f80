// States of a savepoint or checkpoint anywhere.

import { html } from '../core/view.js';

export function StateBrowser() {
  return html`<p class="muted">States of a savepoint or checkpoint anywhere.</p>`;
}
