// A job drawn from left to right: a box for each vertex with the operators that are chained in it, lines for
// what flows between them. With a plan alone it shows the plan; with vertices also what they do.

import { classes, html, useId, useMemo } from '../core/view.js';
import { count, moment, percent, rate } from '../core/format.js';
import { drawingOf, labelLines, shapeOf } from '../graph/layout.js';
import { mostly, tasksInWords, timeInWords } from '../graph/vertices.js';
import { useViewport } from '../graph/viewport.js';
import { isFar } from '../graph/zoom.js';
import { lagInWords, lagOf, watermarkOf } from '../vertex/watermarks.js';
import { TimeSplit } from './bars.js';

/**
 * @typedef {import('../graph/vertices.js').Vertex} Vertex
 * @typedef {import('../graph/layout.js').Box} Box
 */

/**
 * @param {{
 *   plan: any, label: string, vertices?: readonly Vertex[], now?: number, ended?: boolean,
 *   hrefOf?: (vertex: string) => string, blamed?: ReadonlySet<string>,
 * }} props
 * plan: as the interface gives it; label: what is drawn, for screen readers; vertices: what they do, at the time
 * now; hrefOf: where a box leads to; blamed: those that hold others up
 */
export function JobGraph({ plan, label, vertices, now = 0, ended = false, hrefOf, blamed }) {
  const figures = vertices !== undefined;
  const shape = shapeOf(plan);
  const drawing = useMemo(() => drawingOf(plan, { figures }), [shape, figures]);
  const { place, scale, larger, smaller, fit } = useViewport(drawing);
  const byId = useMemo(() => new Map(vertices?.map((vertex) => [vertex.id, vertex])), [vertices]);
  const { width, height } = drawing;
  if (!drawing.boxes.length) return html`<p class="muted graph-empty">There is no plan to draw yet.</p>`;
  return html`<div class="graph">
    <div class="graph-tools" role="group" aria-label="Size of the drawing">
      <button type="button" class="button" onClick=${smaller} aria-label="Smaller" title="Smaller (Ctrl and wheel)">−</button>
      <span class="graph-scale" aria-hidden="true">${percent(scale)}</span>
      <button type="button" class="button" onClick=${larger} aria-label="Larger" title="Larger (Ctrl and wheel)">+</button>
      <button type="button" class="button" onClick=${fit}>Fit</button>
    </div>
    <div class="graph-view" ref=${place} tabindex="0" role="group" aria-label=${label}>
      <div class="graph-size" style=${{ width: `${width * scale}px`, height: `${height * scale}px` }}>
        <div class=${classes('graph-stage', isFar(scale) && 'far')} style=${{ width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` }}>
          <${Edges} drawing=${drawing} />
          ${drawing.boxes.map((box) => html`<${VertexBox} key=${box.id} ...${{
            box, vertex: byId.get(box.id), figures, now, ended, href: hrefOf?.(box.id), blamed: blamed?.has(box.id) ?? false,
          }} />`)}
        </div>
      </div>
    </div>
  </div>`;
}

/** @param {{drawing: import('../graph/layout.js').Drawing}} props */
function Edges({ drawing }) {
  const arrow = useId();
  return useMemo(() => html`<svg class="graph-edges" width=${drawing.width} height=${drawing.height} aria-hidden="true">
    <defs>
      <marker id=${arrow} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
        <path d="M0 0.5 7.5 4 0 7.5z" />
      </marker>
    </defs>
    ${drawing.edges.map((edge) => html`<g key=${edge.key} class=${classes('edge', edge.sideOutput !== undefined && 'aside')} data-from=${edge.from} data-to=${edge.to}>
      <path d=${edge.path} marker-end=${`url(#${arrow})`} />
      ${labelLines(edge).map((line, at, lines) => html`<text key=${line} x=${edge.label.x} y=${edge.label.y + (at - (lines.length - 1) / 2) * 15}>
        ${line}${at > 0 && html`<title>side output: ${edge.sideOutput}</title>`}
      </text>`)}
    </g>`)}
  </svg>`, [drawing]);
}

/**
 * @param {{box: Box, vertex: Vertex | undefined, figures: boolean, now: number, ended: boolean, href: string | undefined, blamed: boolean}} props
 */
function VertexBox({ box, vertex, figures, now, ended, href, blamed }) {
  const what = mostly(vertex);
  const share = what && vertex?.time ? vertex.time[what] : 0;
  const words = vertex && wordsOf(vertex, now, ended);
  const style = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px`, '--share': percent(share).replace(' ', '') };
  return useMemo(() => {
    const content = html`
      <span class="node-head">
        <span class="node-name">${box.lines[0]?.name ?? 'unnamed'}</span>
        <${Kind} kind=${box.lines[0]?.kind} />
        <span class="node-copies">× ${box.parallelism}<span class="hidden-words"> subtasks</span></span>
      </span>
      ${box.lines.slice(1).map((line) => html`<span class="node-line" style=${{ paddingLeft: `${line.depth * 12}px` }}>
        <span aria-hidden="true">↳</span>
        <span class="node-name">${line.name}</span>
        ${line.sideOutput !== undefined && html`<span class="node-kind aside" title=${`reads the side output '${line.sideOutput}'`}>side</span>`}
        <${Kind} kind=${line.kind} />
      </span>`)}
      ${box.more > 0 && html`<span class="node-line muted">and ${box.more} more</span>`}
      ${figures && html`<${BoxFigures} vertex=${vertex} words=${words} />`}
      ${blamed && html`<span class="node-flag">holds others up</span>`}`;
    const props = {
      class: classes('node', what && `mostly-${what}`, vertex && `is-${vertex.status.toLowerCase()}`, blamed && 'blamed'),
      id: `vertex-${box.id}`, title: box.title, style, 'data-vertex': box.id,
    };
    return href ? html`<a ...${props} href=${href} draggable=${false}>${content}</a>` : html`<div ...${props}>${content}</div>`;
  }, [box, figures, blamed, href, what, style['--share'], JSON.stringify(words), vertex?.status]);
}

/** @param {{kind: string | undefined}} props */
function Kind({ kind }) {
  return kind === 'source' || kind === 'sink' ? html`<span class="node-kind">${kind}</span>` : null;
}

/** @param {{vertex: Vertex | undefined, words: ReturnType<typeof wordsOf> | undefined}} props */
function BoxFigures({ vertex, words }) {
  return html`<span class="node-figures">
    ${vertex?.time ? html`<${TimeSplit} ...${vertex.time} />` : html`<span class="split"></span>`}
    <span class="node-time">${words?.time}</span>
    <span>${words?.records}</span>
    <span title=${words?.watermarkTitle}>${words?.watermark}</span>
    <span class="node-tasks">${words?.tasks}</span>
  </span>`;
}

/** What is written in a box. @param {Vertex} vertex @param {number} now @param {boolean} ended */
function wordsOf(vertex, now, ended) {
  const time = timeInWords(vertex) ?? (ended ? 'no figures' : 'no figures yet');
  const records = recordsInWords(vertex, ended);
  const tasks = tasksInWords(vertex);
  if (ended) return { time, records, tasks, watermark: vertex.attempt ? 'since it last began' : 'over the whole run', watermarkTitle: undefined };
  const watermark = watermarkOf(vertex.watermark);
  const at = watermark.kind === 'at' ? watermark.at : undefined;
  return {
    time, records, tasks,
    watermark: at !== undefined ? `watermark: ${lagInWords(lagOf(watermark, now))}${now >= at ? ' behind' : ''}`
      : watermark.kind === 'end' ? 'watermark: at the end' : 'no watermark',
    watermarkTitle: at === undefined ? undefined : moment(at),
  };
}

/** @param {Vertex} vertex @param {boolean} ended */
function recordsInWords({ isSource, isSink, inRate, outRate, recordsIn, recordsOut }, ended) {
  const show = ended ? count : rate;
  const taken = `${isSource ? 'reads' : 'in'} ${show(ended ? recordsIn : inRate)}`;
  const given = `out ${show(ended ? recordsOut : outRate)}`;
  if (ended && isSource) return isSink ? '' : `${given} records`;
  return `${isSink ? taken : `${taken}, ${given}`}${ended ? ' records' : ''}`;
}
