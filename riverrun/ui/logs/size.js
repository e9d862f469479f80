// How large a box is, and a character in it.

import { useLayoutEffect, useState } from '../core/view.js';

const MEASURED = 10;

/**
 * @param {{current: HTMLElement | null}} box
 * @param {{current: HTMLElement | null}} measure ten characters
 */
export function useSize(box, measure) {
  const [size, setSize] = useState({ width: 0, height: 0, character: 0 });
  useLayoutEffect(() => {
    const node = box.current;
    if (!node) return undefined;
    const look = () => {
      const style = getComputedStyle(node);
      const width = node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const character = (measure.current?.getBoundingClientRect().width ?? 0) / MEASURED;
      setSize((old) => (old.width === width && old.height === node.clientHeight ? old : { width, height: node.clientHeight, character }));
    };
    const observer = new ResizeObserver(look);
    observer.observe(node);
    look();
    return () => observer.disconnect();
  }, []);
  return size;
}
