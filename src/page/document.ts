import { createHash } from 'node:crypto';
import { script } from './client.ts';
import { html, Html } from './html.ts';
import { logLines, pageSections } from './sections.ts';
import type { PageState } from './state.ts';
import { style } from './style.ts';

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** What a browser may load for the page: its own style and script, and nothing from elsewhere. */
const policyFor = (mode: 'live' | 'saved'): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    ...(mode === 'live' ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/** Policy of the answers of the server. */
export const livePolicy = `${policyFor('live')}; frame-ancestors 'none'`;

/** Path of the events, from the page. */
export const eventsPath = 'events';

/**
 * The whole page as one document, which loads nothing. A live one follows its server; a saved one
 * is a file.
 * @param now where the time line ends while nothing has ended
 */
export function pageDocument(page: PageState, now: number, mode: 'live' | 'saved'): string {
  const sections = pageSections(page, now);
  const within = (id: string): readonly Html[] =>
    sections
      .filter((section) => section.within === id)
      .map((section) => html`<section id="${section.id}">${section.content}</section>`);
  const live = mode === 'live' ? html` data-events="${eventsPath}"` : undefined;
  return `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyFor(mode)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title} – Bootwright</title>
<style>${new Html(style)}</style>
</head>
<body${live}>
<a class="skip" href="#filter">Skip to the log</a>
<header id="top">${within('top')}</header>
<div id="gone" role="alert" hidden>The program that serves this page does not answer; the page continues when it does.</div>
<main>
<div class="wide" id="intro">${within('intro')}</div>
<div><h2 class="hidden">Hosts</h2><div id="hosts">${within('hosts')}</div></div>
<div class="side">
<div class="panel" id="cluster"><h2>Cluster</h2>${within('cluster')}</div>
<div class="panel" id="injected"><h2>Faults</h2>${within('injected')}</div>
</div>
<div class="panel wide" id="time"><h2>Time line</h2>${within('time')}</div>
<div class="panel wide" id="log"><h2>Log</h2>
<div class="tools"><label>Filter <input id="filter" type="search" autocomplete="off" spellcheck="false" placeholder="host, level, words  ( / )"></label><label><input id="more" type="checkbox"> commands and details</label><button id="save" type="button">Download what is shown</button><small id="count" role="status"></small></div>
<ol id="lines" tabindex="0" aria-label="Log">${logLines(page.lines)}</ol>
</div>
</main>
<script>${new Html(script)}</script>
</body>
</html>
`.text
  }`;
}
