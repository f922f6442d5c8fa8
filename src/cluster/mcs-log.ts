import { canonicalAddress } from '../lib/address.ts';

/** Where the kubelet puts a link to the log of each container of the host. */
export const containerLogs = '/var/log/containers';

/** Whether a name in `containerLogs` is a log of the machine-config-server. */
export const isMcsLog = (name: string): boolean => /machine-config-server.*\.log$/.test(name);

/**
 * A request that Ignition made. The machine-config-server writes the address in one of three ways,
 * by its release: `192.168.126.12:32780`, `[fe80::1%ens3]:40548`, `address:"[2620:52::1]:47018"`.
 */
const ignitionRequest = /(?<!\S)(\S{1,99}):\d{1,5}"? User-Agent:"Ignition/g;

/** Addresses in their one spelling that asked for Ignition in whole lines of a log. */
export function addressesAsking(text: string): readonly string[] {
  return [...text.matchAll(ignitionRequest)]
    .map(([, said = '']) =>
      said
        .replace(/^address:/, '')
        .replace(/^"?\[?/, '')
        .replace(/\]$/, ''),
    )
    .map(canonicalAddress)
    .filter((address) => address !== undefined)
    .map(ownText);
}

/** A copy. A piece of a text, as V8 makes it, would keep all of the log in the memory with it. */
const ownText = (piece: string): string => Buffer.from(piece, 'utf8').toString('utf8');

/** How far the log of one container has been read. */
export interface McsLog {
  /** Who asked, of all that was ever read. */
  readonly asked: ReadonlySet<string>;
  /** Characters of whole lines that were read. */
  readonly read: number;
  /** The last of them, by which another file under the same name is told apart. */
  readonly tail: string;
}

/** A log of which nothing has been read. */
export const unreadLog: McsLog = { asked: new Set(), read: 0, tail: '' };

/** Characters that tell one log from another: each line begins with its time. */
const tailLength = 256;

/**
 * Reads on in a log, given its whole text: only lines that are new and whole are looked at. A log
 * that is another one than before, after a rotation for example, is read from its beginning; who
 * asked is not forgotten.
 */
export function readOn(log: McsLog, text: string): McsLog {
  const isSame = text.startsWith(log.tail, log.read - log.tail.length) && text.length >= log.read;
  const from = isSame ? log.read : 0;
  const end = text.lastIndexOf('\n') + 1;
  if (end <= from) return isSame ? log : { ...unreadLog, asked: log.asked };
  const found = addressesAsking(text.slice(from, end));
  const isNews = found.some((address) => !log.asked.has(address));
  return {
    asked: isNews ? new Set([...log.asked, ...found]) : log.asked,
    read: end,
    tail: ownText(text.slice(Math.max(0, end - tailLength), end)),
  };
}
