// The entry for the browser: the script of the page. The server sends the text of its functions, so
// they may only use each other and the browser.

/** The part of a browser that the script uses. */
interface Browser {
  readonly document: {
    readonly body: Element & { readonly dataset: Readonly<Record<string, string | undefined>> };
    readonly createElement: (
      name: 'template' | 'section' | 'a',
    ) => Element & { readonly content: Element; href: string; download: string };
    readonly getElementById: (id: string) => Element | null;
    readonly querySelectorAll: (selector: string) => Iterable<Element>;
    readonly addEventListener: ((name: 'keydown', run: (event: KeyEvent) => void) => void) &
      ((name: 'click', run: (event: { readonly target: Element }) => void) => void);
  };
  readonly navigator: {
    /** Undefined if the page is served to another machine without TLS. */
    readonly clipboard?: { readonly writeText: (text: string) => Promise<void> };
  };
  readonly URL: {
    readonly createObjectURL: (blob: object) => string;
    readonly revokeObjectURL: (url: string) => void;
  };
  readonly Blob: new (parts: readonly string[], options: { readonly type: string }) => object;
  readonly getSelection: () => { readonly selectAllChildren: (node: Element) => void };
  readonly EventSource: new (path: string) => {
    readonly readyState: number;
    onopen: () => void;
    onerror: () => void;
    onmessage: (message: { readonly data: string }) => void;
    readonly close: () => void;
  };
}

interface Element {
  readonly parentElement: Element | null;
  readonly closest: (selector: string) => Element | null;
  readonly nodeType: number;
  readonly nodeName: string;
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>;
  readonly childNodes: Iterable<Element>;
  readonly children: Iterable<Element> & { readonly length: number };
  data: string;
  innerHTML: string;
  textContent: string;
  value: string;
  checked: boolean;
  hidden: boolean;
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
  readonly append: (...nodes: readonly Element[]) => void;
  readonly replaceWith: (node: Element) => void;
  readonly remove: () => void;
  readonly focus: () => void;
  readonly click: () => void;
  readonly getAttribute: (name: string) => string | null;
  readonly setAttribute: (name: string, value: string) => void;
  readonly removeAttribute: (name: string) => void;
  readonly hasAttribute: (name: string) => boolean;
  readonly addEventListener: (name: 'input' | 'click', run: () => void) => void;
}

interface KeyEvent {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly target: { readonly tagName: string };
  readonly preventDefault: () => void;
}

/** A change of the page in the form that the server sends. */
export interface Patch {
  /** The time of the server, in milliseconds since the epoch. */
  readonly now: number;
  readonly sections: readonly {
    readonly id: string;
    readonly within: string;
    readonly html: string;
  }[];
  /** Ids of all hosts' sections, in the order of the page. */
  readonly hosts: readonly string[];
  /** New lines of the log, as HTML. */
  readonly lines: string;
  /** Number of all lines so far. */
  readonly lineCount: number;
  readonly isOver: boolean;
}

/** A duration in words. */
function lengthOf(millis: number): string {
  const seconds = Math.max(0, Math.floor(millis / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Updates the children of an element in place, so that focus, selection and open lists stay. */
function morphChildren(from: Element, to: Element): void {
  const morph = (old: Element, wanted: Element): void => {
    for (const { name, value } of [...wanted.attributes]) {
      if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!wanted.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
    }
    morphChildren(old, wanted);
  };
  const [olds, news] = [[...from.childNodes], [...to.childNodes]];
  for (const [index, wanted] of news.entries()) {
    const old = olds[index];
    if (old === undefined) from.append(wanted);
    else if (old.nodeName !== wanted.nodeName) old.replaceWith(wanted);
    else if (old.nodeType === 1) morph(old, wanted);
    else if (old.data !== wanted.data) old.data = wanted.data;
  }
  for (const old of olds.slice(news.length)) old.remove();
}

/** The elements of an HTML text. */
function elementsOf({ document }: Browser, text: string): Element {
  const template = document.createElement('template');
  template.innerHTML = text;
  return template.content;
}

/** Sorts the hosts: a failed host moves to the top. */
function sortHosts({ document }: Browser, ids: readonly string[]): void {
  const list = document.getElementById('hosts');
  if (list === null) return;
  const shown = [...list.children].map((host) => host.getAttribute('id'));
  if (shown.join(' ') === ids.join(' ')) return;
  for (const id of ids) {
    const host = document.getElementById(id);
    if (host !== null) list.append(host);
  }
}

/** Filters the log, adds new lines, and stays at the end if the reader is there. */
function openLog(browser: Browser): { readonly add: (patch: Patch) => void } {
  const { document, URL, Blob } = browser;
  const mostLines = 2000;
  const [filter, more, list, count, save] = ['filter', 'more', 'lines', 'count', 'save'].map((id) =>
    document.getElementById(id),
  ) as [Element, Element, Element, Element, Element];
  let total = list.children.length;
  const applyFilter = (): void => {
    const words = filter.value.toLowerCase().split(' ').filter(Boolean);
    let shown = 0;
    for (const line of list.children) {
      const level = line.getAttribute('class') ?? '';
      const text = `${level} ${line.textContent}`.toLowerCase();
      const isWanted = more.checked || level !== 'level-debug';
      line.hidden = !isWanted || !words.every((word) => text.includes(word));
      if (!line.hidden) shown += 1;
    }
    const text = `${shown} of ${Math.max(total, list.children.length)} lines`;
    if (count.textContent !== text) count.textContent = text;
  };
  filter.addEventListener('input', applyFilter);
  more.addEventListener('input', applyFilter);
  save.addEventListener('click', () => {
    const shown = [...list.children].filter((line) => !line.hidden);
    const text = shown.map((line) => `${line.textContent.replace(/\s+/g, ' ').trim()}\n`);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(text, { type: 'text/plain' }));
    link.download = `bootwright-${new Date().toISOString().slice(0, 16).replace(':', '')}.log`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === '/' && target.tagName !== 'INPUT') {
      event.preventDefault();
      filter.focus();
    }
  });
  applyFilter();
  list.scrollTop = list.scrollHeight;
  return {
    add: ({ lines, lineCount }) => {
      total = lineCount;
      if (lines === '') return;
      const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
      for (const line of [...elementsOf(browser, lines).children]) {
        if (document.getElementById(line.getAttribute('id') ?? '') === null) list.append(line);
      }
      const all = [...list.children];
      for (const line of all.slice(0, Math.max(0, all.length - mostLines))) line.remove();
      applyFilter();
      if (isAtEnd) list.scrollTop = list.scrollHeight;
    },
  };
}

/** Lets a button copy a text; if the browser gives no clipboard, selects the text. */
function openCopying({ document, navigator, getSelection }: Browser): void {
  document.addEventListener('click', ({ target }) => {
    const button = target.closest('[data-copy]');
    if (button === null) return;
    const select = (): void => {
      if (button.parentElement !== null) getSelection().selectAllChildren(button.parentElement);
    };
    const text = button.getAttribute('data-copy') ?? '';
    if (navigator.clipboard === undefined) {
      select();
      return;
    }
    void navigator.clipboard.writeText(text).then(() => {
      button.textContent = 'Copied';
    }, select);
  });
}

/** Keeps the page up to date, its clocks running, and its log filtered. */
function runPage(): void {
  const browser = globalThis as unknown as Browser;
  const { document, EventSource } = browser;
  const log = openLog(browser);
  openCopying(browser);
  let offset = 0;
  const tick = (): void => {
    const now = Date.now() + offset;
    for (const time of document.querySelectorAll('[data-since]')) {
      const text = lengthOf(now - Number(time.getAttribute('data-since')));
      if (time.textContent !== text) time.textContent = text;
    }
  };
  const apply = (patch: Patch): void => {
    offset = patch.now - Date.now();
    for (const { id, within, html } of patch.sections) {
      const known = document.getElementById(id);
      const section = known ?? document.createElement('section');
      if (known === null) {
        section.setAttribute('id', id);
        document.getElementById(within)?.append(section);
      }
      morphChildren(section, elementsOf(browser, html));
    }
    sortHosts(browser, patch.hosts);
    log.add(patch);
    tick();
  };
  tick();
  const path = document.body.dataset['events'];
  const gone = document.getElementById('gone');
  if (path === undefined || gone === null) return;
  setInterval(tick, 1000);
  const follow = (): void => {
    const source = new EventSource(path);
    source.onopen = () => {
      gone.hidden = true;
    };
    source.onerror = () => {
      gone.hidden = false;
      // After a refusal, a browser does not reconnect by itself, as it does after a cut.
      if (source.readyState === 2) setTimeout(follow, 2000);
    };
    source.onmessage = ({ data }) => {
      const patch = JSON.parse(data) as Patch;
      apply(patch);
      if (patch.isOver) source.close();
    };
  };
  follow();
}

/** The script of the page: the text of the functions above, and a call of the last one. */
export const script = `${[lengthOf, morphChildren, elementsOf, sortHosts, openLog, openCopying, runPage].join('\n')}
${runPage.name}();`;
