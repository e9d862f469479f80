// Light or dark: as the system says, unless the reader chose.

import { useState } from './view.js';

const CHOICE = 'riverrun-theme';

/** @typedef {'system' | 'light' | 'dark'} Theme */

/** Apply what was chosen earlier; called before anything is drawn. */
export function applyTheme() {
  const choice = localStorage.getItem(CHOICE);
  if (choice === 'light' || choice === 'dark') document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
}

/** @returns {[Theme, () => void]} what is chosen, and how to go on to the next choice */
export function useTheme() {
  const [theme, set] = useState(/** @type {Theme} */ (localStorage.getItem(CHOICE) ?? 'system'));
  const next = () => {
    const order = /** @type {Theme[]} */ (['system', 'light', 'dark']);
    const chosen = order[(order.indexOf(theme) + 1) % order.length];
    if (chosen === 'system') localStorage.removeItem(CHOICE);
    else localStorage.setItem(CHOICE, chosen);
    applyTheme();
    set(chosen);
  };
  return [theme, next];
}
