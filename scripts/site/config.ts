import { cpSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const top = resolve(import.meta.dirname, '../..');

/** A page that a folder shows when it is opened: README.md on the forge, index.html on the site. */
const folderPages = ['README.md', 'docs/README.md', 'docs/adr/README.md'];

const indexOf = (path: string): string => path.replace(/(^|\/)README\.md$/, '$1index.md');

/** The part of a token of markdown-it that the rules need. */
interface Token {
  readonly type: string;
  readonly content: string;
  readonly children: readonly Token[] | null;
  readonly attrGet: (name: string) => string | null;
  readonly attrSet: (name: string, value: string) => void;
}

interface Page {
  readonly tokens: readonly Token[];
  readonly env: { readonly path: string };
}

/** A page that the search takes in. */
interface SearchedPage {
  readonly relativePath: string;
}

interface Renderer {
  readonly render: (text: string, page: SearchedPage) => string;
}

interface MarkdownIt {
  readonly core: { readonly ruler: { readonly push: (name: string, rule: Rule) => void } };
}

type Rule = (page: Page) => void;

/** Files of the tree that a page links to and that are no pages. They go along as they are. */
const linkedFiles = new Set<string>();

/** Links to nothing, and to folders. */
const deadLinks = new Set<string>();

/** Takes each link as the forge does: from the source file to a file of the tree. */
const followLinks: Rule = ({ tokens, env }) => {
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === 'link_open' ? (token.attrGet('href') ?? '') : '';
    const [, path = '', anchor = ''] = /^(?!\w+:|\/\/)([^#]*)(#.*)?$/.exec(href) ?? [];
    if (path === '') continue;
    const from = relative(process.cwd(), env.path);
    const target = resolve(top, dirname(from), decodeURIComponent(path));
    if (!statSync(target, { throwIfNoEntry: false })?.isFile()) {
      deadLinks.add(`${from}: ${path} is no file`);
    }
    if (target.endsWith('.md')) token.attrSet('href', indexOf(path) + anchor);
    else {
      linkedFiles.add(relative(top, target));
      // VitePress takes a link with a target for one to a file that is no page.
      token.attrSet('target', '_self');
    }
  }
};

/** Vue would read `{{.Digest}}` in a command as a template of its own. */
const keepCode: Rule = ({ tokens }) => {
  for (const token of tokens.flatMap(({ children }) => children ?? []))
    if (token.type === 'code_inline') token.attrSet('v-pre', '');
};

/** A cell with a sentence: it keeps the width of some words, and its table scrolls, where a screen is narrow. */
const markSentences: Rule = ({ tokens }) => {
  for (const [at, token] of tokens.entries())
    if (token.type === 'td_open' && (tokens[at + 1]?.content.length ?? 0) > 40)
      token.attrSet('class', 'sentence');
};

const narrow = '@media (max-width: 640px) { .vp-doc td.sentence { min-width: 15rem } }';

const icon = 'favicon.svg';

/** The anchor of a heading as the forge makes it, so that one link is right in both. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly SidebarItem[];
  readonly collapsed?: boolean;
}

/** The links of a list or of the first column of a table, in their order, by the titles of their pages. */
function itemsOf(page: string, text: string): readonly SidebarItem[] {
  const links = text.matchAll(/^(?:- |\| )\[[^\]]*\]\(([^)#]+\.md)\)/gm);
  return [...links].map(([, link = '']) => {
    const path = join(dirname(page), link);
    return { text: titleOf(path), link: `/${indexOf(path).replace(/\.md$/, '')}` };
  });
}

const read = (path: string): string => readFileSync(join(top, path), 'utf8');

const titleOf = (path: string): string =>
  (/^# (.*)$/m.exec(read(path))?.[1] ?? path).replaceAll('`', '');

/** The sidebar is docs/README.md: a group for each heading, with the pages of its list. */
function sidebar(): readonly SidebarItem[] {
  const [, ...sections] = read('docs/README.md').split(/^## /m);
  const groups = sections.map((section) => ({
    text: section.split('\n', 1)[0] ?? '',
    items: itemsOf('docs/README.md', section),
  }));
  const decisions = itemsOf('docs/adr/README.md', read('docs/adr/README.md'));
  return [
    ...groups.filter(({ items }) => items.length > 0),
    { text: 'Decisions', items: decisions, collapsed: true },
  ];
}

/** The docs site, for VitePress, which runs where `scripts/site.ts` has put the pages. */
export const siteConfig = {
  title: 'Bootwright',
  description: 'Installs OpenShift nodes on bare metal, one container run per host',
  rewrites: Object.fromEntries(folderPages.map((path) => [path, indexOf(path)])),
  markdown: {
    anchor: { slugify: anchorOf },
    config: (md: MarkdownIt) => {
      md.core.ruler.push('tree-links', followLinks);
      md.core.ruler.push('plain-code', keepCode);
      md.core.ruler.push('sentences', markSentences);
    },
  },
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `/${icon}` }],
    ['style', {}, narrow],
  ],
  themeConfig: {
    nav: [
      { text: 'Guides', link: '/docs/' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        /** A reader sees of each result whether it is a page to work by or the reason of a decision. */
        _render: (text: string, env: SearchedPage, md: Renderer): string =>
          env.relativePath.startsWith('docs/adr/')
            ? md.render(text.replace(/^# /, '# Decision '), env)
            : md.render(text, env),
        // The browser gets this function as text: it has nothing but its arguments.
        miniSearch: {
          searchOptions: {
            boostDocument: (page: string): number => (page.startsWith('/docs/adr/') ? 0.1 : 1),
          },
        },
      },
    },
  },
  /** @throws Error that names every link to nothing. VitePress has looked for its pages alone. */
  buildEnd: ({ outDir }: { readonly outDir: string }) => {
    if (deadLinks.size > 0)
      throw new Error(`links that lead nowhere:\n${[...deadLinks].join('\n')}`);
    for (const path of linkedFiles) cpSync(join(top, path), join(outDir, path));
    cpSync(join(import.meta.dirname, icon), join(outDir, icon));
  },
} as const;
