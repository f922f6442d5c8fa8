// The entry for programs that show a page: its document, and the patches that update it.
import { createHash } from 'node:crypto';
import { type Patch, script } from './browser.ts';
import { pageAfter } from './fold.ts';
import { html, Html } from './html.ts';
import { logLines, pageSections } from './sections.ts';
import type { PageState, PageUpdate } from './state.ts';
import { style } from './style.ts';

/** A page with its updates. */
export interface LivePage {
  readonly state: () => PageState;
  readonly update: (update: PageUpdate) => void;
  readonly document: (now: number) => string;
  /** The page as a file. */
  readonly saved: (now: number) => string;
  /** All sections and the stored lines of the log, for a new reader. */
  readonly whole: (now: number) => Patch;
  /** The changes since the last call; undefined if there are none. */
  readonly changes: (now: number) => Patch | undefined;
}

/** Interval at which the time line of a watched page is drawn again, in milliseconds. */
const REDRAW_MILLIS = 2000;

/** Opens a page. */
export function livePage(begin: PageState): LivePage {
  let page = begin;
  let sent = { page: undefined as PageState | undefined, tick: 0, html: new Map<string, string>() };
  const tickOf = (now: number): number => Math.ceil(now / REDRAW_MILLIS) * REDRAW_MILLIS;
  const rendered = (now: number): Patch => {
    const sections = pageSections(page, tickOf(now));
    return {
      now,
      sections: sections.map(({ id, within, content }) => ({ id, within, html: content.text })),
      hosts: sections.filter(({ within }) => within === 'hosts').map(({ id }) => id),
      lines: logLines(page.lines).text,
      lineCount: page.lineCount,
      isOver: page.end !== undefined,
    };
  };
  return {
    state: () => page,
    update: (update) => {
      page = pageAfter(page, update);
    },
    document: (now) => pageDocument(page, now, 'live'),
    saved: (now) => pageDocument(page, now, 'saved'),
    whole: rendered,
    changes: (now) => {
      const tick = tickOf(now);
      if (sent.page === page && sent.tick === tick) return undefined;
      const whole = rendered(now);
      const sections = whole.sections.filter(({ id, html: text }) => sent.html.get(id) !== text);
      const known = sent.page?.lineCount ?? 0;
      const lines = logLines(page.lines.filter(({ n }) => n > known)).text;
      sent = { page, tick, html: new Map(whole.sections.map((one) => [one.id, one.html])) };
      return sections.length === 0 && lines === '' ? undefined : { ...whole, sections, lines };
    },
  };
}

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** A browser only loads the style and the script of the page, and nothing from other servers. */
const policyFor = (mode: 'live' | 'saved'): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    ...(mode === 'live' ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/** Policy of the server's answers. */
export const livePolicy = `${policyFor('live')}; frame-ancestors 'none'`;

/** Path of the events, relative to the page. */
export const eventsPath = 'events';

/**
 * The whole page as one document without further resources. A live page follows its server; a saved
 * page is a file.
 * @param now the end of the time line before the installation has ended
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
<div><h2 class="hidden">Hosts</h2><div id="rails">${within('rails')}</div><div id="hosts">${within('hosts')}</div></div>
<div class="side">
<div class="panel" id="cluster"><h2>Cluster</h2>${within('cluster')}</div>
<div class="panel" id="injected">${within('injected')}</div>
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
