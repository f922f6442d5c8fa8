import type { Patch } from './client.ts';
import { pageDocument } from './document.ts';
import { pageAfter } from './fold.ts';
import { logLines, pageSections } from './sections.ts';
import type { PageState, PageUpdate } from './state.ts';

/** A page that is kept up to date. */
export interface LivePage {
  readonly state: () => PageState;
  readonly update: (update: PageUpdate) => void;
  readonly document: (now: number) => string;
  /** The page as a file. */
  readonly saved: (now: number) => string;
  /** Everything but the log, for a reader that has just come; of the log what is kept. */
  readonly whole: (now: number) => Patch;
  /** What has changed since the last call; undefined where nothing has. */
  readonly changes: (now: number) => Patch | undefined;
}

/** The time line of a page that is watched is drawn again so often, in milliseconds. */
const redrawEvery = 2000;

const tickOf = (now: number): number => Math.ceil(now / redrawEvery) * redrawEvery;

/** Opens a page. */
export function livePage(begin: PageState): LivePage {
  let page = begin;
  let sent = { page: undefined as PageState | undefined, tick: 0, html: new Map<string, string>() };
  const rendered = (now: number): Patch['sections'] =>
    pageSections(page, tickOf(now)).map(({ id, within, content }) => ({
      id,
      within,
      html: content.text,
    }));
  const patch = (now: number, sections: Patch['sections'], after: number): Patch => ({
    now,
    sections,
    lineCount: page.lineCount,
    isOver: page.end !== undefined,
    lines: logLines(page.lines.filter(({ n }) => n > after)).text,
  });
  return {
    state: () => page,
    update: (update) => {
      page = pageAfter(page, update);
    },
    document: (now) => pageDocument(page, now, 'live'),
    saved: (now) => pageDocument(page, now, 'saved'),
    whole: (now) => patch(now, rendered(now), 0),
    changes: (now) => {
      const tick = tickOf(now);
      if (sent.page === page && sent.tick === tick) return undefined;
      const sections = rendered(now);
      const changed = sections.filter(({ id, html }) => sent.html.get(id) !== html);
      const change = patch(now, changed, sent.page?.lineCount ?? 0);
      sent = { page, tick, html: new Map(sections.map(({ id, html }) => [id, html])) };
      return changed.length === 0 && change.lines === '' ? undefined : change;
    },
  };
}
