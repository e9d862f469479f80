// A place where a drawing is scrolled, dragged and zoomed. Scrolling is the browser's own, so that fingers, keys
// and screen readers work as everywhere.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from '../core/view.js';
import { atFirst, fitting, keeping, stepped, within } from './zoom.js';

const PIXELS_A_STEP = 120;
const DRAG_BEGINS = 4;

/**
 * @param {import('./zoom.js').Size} drawing
 */
export function useViewport(drawing) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [scale, setScale] = useState(1);
  const now = useRef(scale);
  const scroll = useRef(/** @type {import('./zoom.js').Point | null} */ (null));

  const zoomTo = useCallback((/** @type {number} */ wanted, /** @type {import('./zoom.js').Point} */ at) => {
    const node = place.current;
    if (!node) return;
    const next = within(wanted);
    scroll.current = keeping({ x: node.scrollLeft, y: node.scrollTop }, at, next / now.current);
    now.current = next;
    setScale(next);
  }, []);

  useLayoutEffect(() => {
    const node = place.current;
    if (!node || !drawing.width) return;
    now.current = atFirst(drawing, roomOf(node));
    setScale(now.current);
  }, [drawing]);

  useLayoutEffect(() => {
    const node = place.current;
    if (!node || !scroll.current) return;
    node.scrollTo(scroll.current.x, scroll.current.y);
    scroll.current = null;
  }, [scale]);

  useEffect(() => {
    const node = place.current;
    if (!node) return undefined;
    const wheel = (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = node.getBoundingClientRect();
      const at = { x: event.clientX - box.left, y: event.clientY - box.top };
      zoomTo(stepped(now.current, -event.deltaY / PIXELS_A_STEP), at);
    };
    node.addEventListener('wheel', wheel, { passive: false });
    const stopDragging = dragged(node);
    return () => {
      node.removeEventListener('wheel', wheel);
      stopDragging();
    };
  }, [zoomTo]);

  const middle = () => {
    const { width, height } = place.current ? roomOf(place.current) : { width: 0, height: 0 };
    return { x: width / 2, y: height / 2 };
  };
  return {
    place,
    scale,
    larger: () => zoomTo(stepped(now.current, 1), middle()),
    smaller: () => zoomTo(stepped(now.current, -1), middle()),
    fit: () => place.current && zoomTo(fitting(drawing, roomOf(place.current)), { x: 0, y: 0 }),
  };
}

/** @param {HTMLElement} node */
function roomOf(node) {
  return { width: node.clientWidth, height: Math.max(node.clientHeight, innerHeight * 0.6) };
}

/**
 * Scroll by dragging with a mouse; a click that was a drag opens nothing.
 * @param {HTMLElement} node
 * @returns {() => void} ends it
 */
function dragged(node) {
  /** @type {{x: number, y: number, left: number, top: number, moved: boolean} | null} */
  let from = null;
  const down = (/** @type {PointerEvent} */ event) => {
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY, left: node.scrollLeft, top: node.scrollTop, moved: false };
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.hypot(x, y) < DRAG_BEGINS) return;
    if (!from.moved) node.setPointerCapture(event.pointerId);
    from.moved = true;
    node.classList.add('dragged');
    node.scrollTo(from.left - x, from.top - y);
  };
  const up = () => {
    if (from?.moved) addEventListener('click', swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener('click', swallow, { capture: true }));
    node.classList.remove('dragged');
    from = null;
  };
  const swallow = (/** @type {MouseEvent} */ event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  const noGhost = (/** @type {DragEvent} */ event) => event.preventDefault(); // a link is not dragged away
  const listeners = /** @type {[string, any][]} */ ([
    ['pointerdown', down], ['pointermove', move], ['pointerup', up], ['pointercancel', up], ['dragstart', noGhost],
  ]);
  for (const [name, listener] of listeners) node.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of listeners) node.removeEventListener(name, listener);
  };
}
