import { writeFile } from 'node:fs/promises';
import { systemClock } from '../adapters/clock.ts';
import { openInventory } from '../adapters/http/inventory.ts';
import { servePage } from '../adapters/page-server.ts';
import { type ClusterObjects, followCluster, pageUpdates } from '../capi/cluster-objects.ts';
import { flagFailure } from '../config/failures.ts';
import { positionalArguments } from '../config/flags.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { asAgentError, changedFailure } from '../engine/failures.ts';
import { untilAborted } from '../engine/wait.ts';
import { maskerFor } from '../lib/masker.ts';
import { plainLine, withTexts } from '../lib/plain-text.ts';
import { shownText } from '../lib/shown-url.ts';
import { type Millis, minutes, renderDuration, seconds } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import { type LivePage, livePage } from '../page/server.ts';
import { updatesOf } from '../page/service.ts';
import { caps, emptyPage, type PageState, type PageUpdate } from '../page/state.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterOverview, Inventory } from '../ports/inventory.ts';
import { type ClusterCall, clusterTarget } from './cluster.ts';
import { cliFailure } from './failures.ts';
import { print, printNote } from './messages.ts';
import { addressIn } from './run-context.ts';
import { networkOf } from './network.ts';
import { stopSignal } from './stop-signal.ts';
import { limitedBy, limitIn } from './waiting.ts';
import { waitForCluster } from './watch-cluster.ts';
import { statusUrlsIn, watchHosts } from './watch-hosts.ts';

/** Arguments of `watch`. */
interface WatchCall extends ClusterCall {
  /**
   * The URL, and flags of an install; empty with a Cluster, whose objects are followed instead of a
   * service.
   */
  readonly argv: readonly string[];
  readonly listen: string;
  readonly pageFile?: string;
  /** End once the installation is over; the only value is `installed`. */
  readonly until?: string;
  /** A duration as 90m, only with `until`; no limit unless given. */
  readonly timeout?: string;
}

/** The controller asks the service at the same interval. */
const pause: Millis = seconds(20);

/** Refusals of a service that may be final, in a few words. */
const refusals = {
  'inventory.denied': 'token refused',
  'inventory.not-found': 'no such cluster',
  'inventory.untrusted': 'certificate not trusted',
} as const;

/** A service that has answered before may refuse for this long during its restart. */
const refusesWithin: Millis = minutes(2);

/**
 * Serves the page of an inventory service's installation, or of a Cluster's objects, until a signal
 * comes; resolves with the exit code, 0 also after a signal. If a source is unreachable or refuses,
 * shows this on the page and on standard error, and asks again. URLs that end in `/status` are
 * hosts: they are watched without a page until their runs have ended. With `--until`, prints
 * events, ends with the installation, and resolves with 0 once it is installed, or with the exit
 * code of a signal; with a kubeconfig of the cluster, also waits for its operators to settle.
 * @throws AgentError `cli.bad-flag`, `cli.page-not-written`, `serve.address-not-taken`, `config.*`,
 * `web.bad-authority`; with `--until` `cli.not-installed`, `cli.not-installed-in-time`,
 * `inventory.denied`, `inventory.not-found`
 */
export async function runWatch(call: WatchCall): Promise<number> {
  const limit = limitOf(call);
  const { kubeconfig, cluster, until, environment } = call;
  const since = performance.now();
  const exitCode = await watchInstallation(call, limit);
  if (exitCode !== 0 || until === undefined || kubeconfig === undefined || cluster !== undefined)
    return exitCode;
  const left = limit === undefined ? undefined : Math.max(1, limit - (performance.now() - since));
  return waitForCluster({ kubeconfig, environment, limit: left });
}

async function watchInstallation(call: WatchCall, limit: Millis | undefined): Promise<number> {
  const urls = statusUrlsIn(call.argv);
  if (urls.length > 0) {
    requireAlone(urls, call.argv);
    return watchHosts({ urls, limit, environment: call.environment });
  }
  const address = { host: '127.0.0.1', port: 0, ...addressIn('--listen', call.listen) };
  await using source = await (call.cluster === undefined ? serviceOf(call) : objectsOf(call));
  const page = livePage(emptyPage('Installation', source.name, Date.now()));
  using stop = stopSignal();
  const server = await servePage(page, address);
  print(`page: ${server.url}\n`);
  const signal = limitedBy(stop.signal, limit);
  try {
    const followed = call.until === undefined ? page : printing(page, source.mask);
    await source.follow(followed, signal).catch((thrown: unknown) => {
      if (!signal.aborted) throw thrown;
    });
    if (call.until === undefined) {
      print(endText(page, source.mask));
      await untilAborted(stop.signal);
    }
  } finally {
    await server.close();
    if (call.pageFile !== undefined) await savePage(page, call.pageFile);
  }
  if (call.until === undefined) return 0;
  if (stop.signal.aborted) return stop.endCode();
  requireInstalled(page.state(), source, limit);
  return 0;
}

/** @throws AgentError `cli.bad-flag` */
function limitOf({ until, timeout }: WatchCall): Millis | undefined {
  if (timeout === undefined || until !== undefined) return limitIn(timeout);
  throw flagFailure('cli.bad-flag', '`watch`: --timeout needs --until', {
    hint: 'write --until installed beside it',
  });
}

/** A page that also prints each new line of its log. */
function printing(page: LivePage, mask: (text: string) => string): LivePage {
  let printed = 0;
  return {
    ...page,
    update: (update) => {
      page.update(update);
      const { lines, lineCount } = page.state();
      // Standard error says why there are no updates.
      if (update.kind === 'source') printed = lineCount;
      const known = Math.max(0, lines.length - (lineCount - printed));
      for (const { at, source, level, text } of lines.slice(known)) {
        if (level === 'debug') continue;
        print(`${new Date(at).toISOString()} ${plainLine(mask(`${source}: ${text}`))}\n`);
      }
      printed = lineCount;
    },
  };
}

/**
 * @param page the page of an installation that is over, or whose time limit has passed
 * @throws AgentError `cli.not-installed`, `cli.not-installed-in-time`; for a source that never
 * answered, the error of its last request
 */
export function requireInstalled(
  page: PageState,
  { subject, mask, lastFailure }: Pick<PageSource, 'subject' | 'mask' | 'lastFailure'>,
  limit: Millis = 0,
): void {
  const { cluster, hosts, end, lastError, answeredAt } = page;
  if (end?.isGood === true) return;
  const failed = hosts.flatMap(({ name, failure, end: ended }) => {
    if (failure !== undefined) return [`${name}: ${failure.message}`];
    return ended?.isGood === false ? [`${name}: ${ended.text}`] : [];
  });
  if (end !== undefined) {
    const why = [end.text, ...end.details, ...failed].join('; ');
    throw cliFailure('cli.not-installed', plainLine(mask(`${subject} is not installed: ${why}`)));
  }
  const failure = lastFailure?.();
  if (failure !== undefined && answeredAt === undefined) throw masked(failure, mask);
  const last = [cluster.status, ...failed, lastError ?? ''].filter((text) => text !== '');
  const state = last.length === 0 ? 'its state is not known' : last.join('; ');
  throw cliFailure(
    'cli.not-installed-in-time',
    plainLine(mask(`${subject} is not installed within ${renderDuration(limit)}: ${state}`)),
  );
}

/** @throws AgentError `cli.bad-flag` */
function requireAlone(urls: readonly string[], argv: readonly string[]): void {
  const wrong = urls.find((url) => !URL.canParse(url));
  if (wrong !== undefined)
    throw flagFailure('cli.bad-flag', `\`watch\`: ${shownText(wrong)} is not an address`, {
      hint: 'write http://HOST:PORT/status, with a port from 1 to 65535',
    });
  const other = argv.find((word) => !urls.includes(word));
  if (other === undefined) return;
  throw flagFailure('cli.bad-flag', `\`watch\`: hosts are watched without ${other}`, {
    hint: 'give only URLs of hosts, http://HOST:PORT/status, or one URL of a service',
  });
}

/** The source of a page's updates. */
interface PageSource extends AsyncDisposable {
  readonly name: string;
  /** Name of the installation, for messages. */
  readonly subject: string;
  /** The error of the last request, if it was not answered. */
  readonly lastFailure?: (() => AgentError | undefined) | undefined;
  /** Removes secrets from a text that is printed. */
  readonly mask: (text: string) => string;
  /** Updates the page until the installation is over or the signal aborts. */
  readonly follow: (page: LivePage, signal: AbortSignal) => Promise<void>;
}

/** Follows the cluster of a service through the API version that `service.api` names. */
export async function serviceOf(
  call: Pick<WatchCall, 'argv' | 'environment' | 'until'>,
): Promise<PageSource> {
  const { config, notes } = await loadConfig(watchFlags(call.argv), call.environment);
  for (const note of notes) printNote('note', note);
  requireTarget(config);
  const inventory = openInventory(config, { network: await networkOf(config) });
  const secrets = maskerFor(config);
  const mask = (text: string): string => shownText(secrets.mask(text));
  let lastFailure: AgentError | undefined;
  const overview = async (signal: AbortSignal): Promise<ClusterOverview> => {
    try {
      return await inventory.overview(signal);
    } catch (thrown) {
      if (!signal.aborted) lastFailure = asAgentError(thrown);
      throw thrown;
    }
  };
  return {
    name: config.service.url.toString(),
    subject: `cluster ${config.cluster.id}`,
    mask,
    lastFailure: () => lastFailure,
    follow: (page, signal) =>
      followService({
        page,
        inventory: { overview },
        mask,
        signal,
        clock: systemClock,
        until: call.until,
      }),
    [Symbol.asyncDispose]: () => inventory.close(),
  };
}

/** Follows the objects of a Cluster in its management cluster. */
async function objectsOf(call: WatchCall): Promise<PageSource> {
  if (call.argv.length > 0) {
    throw flagFailure('cli.bad-flag', '`watch`: --cluster takes no URL beside it', {
      hint: 'see "bootwright help watch"',
    });
  }
  const target = await clusterTarget('watch', call);
  const { kube, namespace, name } = target;
  return {
    name: `Cluster ${namespace}/${name}`,
    subject: `Cluster ${namespace}/${name}`,
    mask: shownText,
    follow: async (page, signal) => {
      const over = new AbortController();
      const seen = (objects: ClusterObjects, lastError: string | undefined): void => {
        const at = Date.now();
        for (const update of pageUpdates(objects, at))
          page.update(withTexts(update, shownText) as PageUpdate);
        printLastError(page, at, { lastError });
        if (page.state().end !== undefined) over.abort();
      };
      await followCluster(kube, target, { seen, signal: AbortSignal.any([signal, over.signal]) });
    },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

async function savePage(page: LivePage, file: string): Promise<void> {
  try {
    await writeFile(file, page.saved(Date.now()), { mode: 0o600 });
  } catch (cause) {
    throw cliFailure('cli.page-not-written', `${file} cannot be written`, { cause });
  }
}

/** Inputs of the updates of a page from a service. */
interface Following {
  readonly until: string | undefined;
  readonly page: LivePage;
  readonly clock: Clock;
  readonly inventory: Pick<Inventory, 'overview'>;
  readonly mask: (text: string) => string;
  readonly signal: AbortSignal;
}

/**
 * Polls a service until the installation is over, its cluster is deleted, or the signal aborts.
 * @throws AgentError `inventory.denied`, `inventory.not-found` with `--until`, if the cluster can
 * never be read
 */
export async function followService(following: Following): Promise<void> {
  const { page, signal, clock } = following;
  while (!signal.aborted && page.state().end === undefined) {
    const at = clock.now();
    const failure = await readOnce(following, at);
    signal.throwIfAborted();
    if (failure === undefined) printLastError(page, at, {});
    else onFailure(following, failure, at);
    if (page.state().end === undefined) await clock.sleep(pause, signal);
  }
}

function onFailure({ page, mask, until }: Following, failure: AgentError, at: number): void {
  const { code, hint, context } = failure;
  const message = mask(failure.message);
  const refusal = Object.hasOwn(refusals, code)
    ? refusals[code as keyof typeof refusals]
    : undefined;
  const shown = { lastError: mask(`${message}; ${hint}`), refusal };
  const { answeredAt } = page.state();
  const isFinal = refusal !== undefined && at - (answeredAt ?? -Infinity) >= refusesWithin;
  const isDeleted = code === 'inventory.not-found' && answeredAt !== undefined;
  if (isFinal && !isDeleted && until !== undefined) {
    // The command prints the failure itself.
    page.update({ kind: 'source', at, ...shown });
    throw masked(failure, mask);
  }
  const isUnreached = code === 'inventory.unreachable' && context['status'] === undefined;
  const isNamed = code === 'inventory.untrusted' || (refusal === undefined && !isUnreached);
  printLastError(page, at, shown, isNamed);
  if (isFinal && isDeleted) endDeleted(page, at);
}

/** A failure with the secrets in its message masked. */
const masked = (failure: AgentError, mask: PageSource['mask']): AgentError =>
  changedFailure(failure, { message: mask(failure.message) });

function endDeleted(page: LivePage, at: number): void {
  const text = 'deleted';
  page.update({ kind: 'cluster', at, status: text, info: '' });
  const details = ['the service does not have the cluster any more'];
  page.update({ kind: 'end', at, isGood: false, text, details });
}

/**
 * Shows on the page and on standard error why there are no updates now.
 * @param isNamed whether the text itself says what the source does, as with an answer of 503
 */
function printLastError(
  page: LivePage,
  at: number,
  { lastError: text, refusal }: Pick<PageState, 'lastError' | 'refusal'>,
  isNamed = false,
): void {
  // Cut as on the page, so that the same text is printed once.
  const lastError = text === undefined ? undefined : plainLine(text, caps.text);
  const { lastError: before, answeredAt } = page.state();
  const away = refusal ?? (answeredAt === undefined ? 'not reached yet' : 'no answer');
  if (lastError !== before)
    printNote(
      'note',
      lastError === undefined
        ? 'the source of the page answers'
        : `${isNamed ? '' : `${away}: `}${lastError}`,
    );
  page.update({ kind: 'source', at, lastError, refusal });
}

function endText(page: LivePage, mask: PageSource['mask']): string {
  const { end } = page.state();
  if (end === undefined) return '';
  return `cluster ${plainLine(mask(end.text))}; the page stays until Ctrl-C\n`;
}

/** Asks once; resolves with the error if there was no answer. */
async function readOnce(
  { page, inventory, mask, signal }: Following,
  at: number,
): Promise<AgentError | undefined> {
  try {
    for (const update of updatesOf(await inventory.overview(signal), at))
      page.update(withTexts(update, mask) as PageUpdate);
    return undefined;
  } catch (thrown) {
    return asAgentError(thrown);
  }
}

function requireTarget({ service, cluster }: Config): void {
  const missing = service.url.isEmpty ? 'URL' : cluster.id === '' ? '--cluster-id ID' : undefined;
  if (missing === undefined) return;
  throw flagFailure('cli.bad-flag', `\`watch\`: ${missing} is missing`, {
    hint: 'see "bootwright help watch"',
  });
}

const isUrl = (word: string | undefined): boolean => /^https?:\/\//i.test(word ?? '');

/**
 * The equivalent flags of an install. The URL comes first or after flags; it may be the URL of the
 * cluster in the service's API, with the cluster's id.
 */
export function watchFlags(argv: readonly string[]): readonly string[] {
  const words = isUrl(argv[0]) ? argv : positionalArguments(argv);
  const [url = '', ...rest] = words;
  if (!isUrl(url)) return argv;
  const [, base = url, id] =
    /^(.*?)\/api\/assisted-install\/v2\/clusters\/([0-9a-f-]{36})\b/i.exec(url) ?? [];
  const before = argv.slice(0, argv.length - words.length);
  return ['--url', base, ...(id === undefined ? [] : ['--cluster-id', id]), ...before, ...rest];
}
