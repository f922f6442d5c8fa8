import { execFileSync, type StdioOptions } from 'node:child_process';

/** What an image is made of in a tree; other files of it, such as an archive that was written there, do not change the image. */
const inputs = [
  ...['src', 'scripts', 'images', 'Containerfile', 'LICENSE', 'package.json', 'package-lock.json'],
];

/** The commit that an image is made of. */
export interface Source {
  /** Its name; none where the inputs have changes that no commit has. */
  readonly revision?: string;
  /** Seconds since 1970 at which it was committed. */
  readonly date: string;
  /** Where git cloned it from; none where that has no name. */
  readonly remote?: string;
}

/** Reads the commit of a tree; 1970 and nothing else where the tree is not under git. */
export function sourceOf(tree: string): Source {
  const git = (...args: readonly string[]): string | undefined => {
    try {
      const stdio = ['ignore', 'pipe', 'ignore'] satisfies StdioOptions;
      return execFileSync('git', ['-C', tree, ...args], { encoding: 'utf8', stdio }).trim();
    } catch {
      return undefined;
    }
  };
  const revision =
    git('status', '--porcelain', '--', ...inputs) === '' ? git('rev-parse', 'HEAD') : undefined;
  const remote = git('remote', 'get-url', 'origin');
  return {
    date: git('log', '-1', '--format=%ct') ?? '0',
    ...(revision !== undefined && { revision }),
    ...(remote !== undefined && { remote }),
  };
}

/** What package.json says of where a package is from; both are npm's own fields. */
export interface PackageAddresses {
  readonly repository?: { readonly url: string };
  readonly homepage?: string;
}

/**
 * The addresses of an image's labels (opencontainers/image-spec): those of package.json, otherwise that of the clone, whose
 * README is the first page of the documentation. None where there is no public address.
 */
export function addressLabels(
  { repository, homepage }: PackageAddresses,
  remote = '',
): Readonly<Record<string, string>> {
  const source = browserAddress(repository?.url ?? remote);
  const url = homepage ?? source;
  return {
    ...(source !== undefined && { source }),
    ...(url !== undefined && { url, documentation: url }),
  };
}

/** The address at which a browser opens a repository: whoever cloned it, and how, is no part of it. None for a folder. */
function browserAddress(repository: string): string | undefined {
  const scp = /^[^/:@]+@([^/:]+):(?!\/\/)/;
  const url = URL.parse(repository.replace(/^git\+/, '').replace(scp, 'ssh://$1/'));
  if (url === null || !/^(?:https?|ssh|git):$/.test(url.protocol)) return undefined;
  const isWeb = url.protocol.startsWith('http');
  const path = url.pathname.replace(/(?:\.git)?\/?$/, '');
  return `${isWeb ? url.protocol : 'https:'}//${isWeb ? url.host : url.hostname}${path}`;
}
