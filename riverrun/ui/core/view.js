// What pages are written with: preact's hooks, and markup in template strings.

import { h, Fragment, render } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export { Fragment, render };
export {
  useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useReducer, useRef, useState,
} from '../vendor/preact-hooks.js';

/** Markup: html`<p class="muted">${words}</p>`; components are called as <${Name} ... />. */
export const html = htm.bind(h);

/**
 * What a component returns, and what may stand between tags.
 * @typedef {import('../vendor/preact.js').ComponentChildren} Children
 */

/**
 * Class names of which some may not apply: classes('a', wide && 'wide').
 * @param {...(string | false | null | undefined)} names
 */
export function classes(...names) {
  return names.filter(Boolean).join(' ');
}
