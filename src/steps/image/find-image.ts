import type { TargetDisk } from '../disk/facts.ts';
import type { StepScope } from '../step.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { ImageWish } from './choose-source.ts';
import type { ChosenImage } from './facts.ts';
import { imageFailure } from './failures.ts';
import { readFileHead, verifyFile } from './image-file.ts';
import { readUrlHead, refuseUnfit } from './image-head.ts';
import { findLiveImage } from './live-medium.ts';
import { compareLines, lineOfBuild, lineOfCluster, renderLine } from './release.ts';
import { findInStream } from './find-in-stream.ts';
import type { StreamImage } from './stream.ts';

/** What the image is looked for with. */
export interface Search {
  readonly scope: StepScope<'host' | 'web'>;
  readonly disk: TargetDisk;
}

/** Finds what a wish names, and refuses what would fail later, when the disk is lost. */
export function findImage(search: Search, wish: ImageWish): Promise<ChosenImage> {
  switch (wish.kind) {
    case 'writer-args':
      return Promise.resolve(wish);
    case 'file':
      return findFile(search, wish);
    case 'url':
      return findUrl(search, {
        ...wish,
        sha256: search.scope.config.image.sha256,
        source: 'config',
      });
    case 'stream':
      return findStreamImage(search, wish);
    case 'live':
      return findOnMedium(search, wish);
  }
}

async function findFile(
  { scope, disk }: Search,
  { path, because }: { readonly path: string; readonly because: string },
): Promise<ChosenImage> {
  const { host, signal, config } = scope;
  if ((await host.realPath(path, signal)) === undefined) throw fileMissing(path);
  const { sectorBytes } = disk;
  refuseUnfit(await readFileHead(host, path, signal), { origin: path, sectorBytes });
  const { sha256 } = config.image;
  if (sha256 === '') return { kind: 'file', path, because };
  await verifyFile(host, { path, sha256 }, signal);
  return { kind: 'file', path, sha256, because };
}

interface UrlImage {
  readonly url: string;
  /** Empty when it is not known. */
  readonly sha256: string;
  readonly source: 'config' | 'stream';
  readonly because: string;
}

async function findUrl(
  { scope, disk }: Search,
  { url, sha256, source, because }: UrlImage,
): Promise<ChosenImage> {
  const { sectorBytes } = disk;
  const shown = shownUrl(url);
  refuseUnfit(await readUrlHead(scope.web, url, scope.signal), { origin: shown, sectorBytes });
  return { kind: 'url', url: shown, source, because, ...(sha256 === '' ? {} : { sha256 }) };
}

async function findStreamImage(
  search: Search,
  { location, because }: { readonly location: string; readonly because: string },
): Promise<ChosenImage> {
  const { scope, disk } = search;
  const image = await findInStream(scope, { location, sectorBytes: disk.sectorBytes });
  holdAgainstRelease(search, image);
  const { sha256 } = scope.config.image;
  return findUrl(search, {
    url: image.url,
    sha256: sha256 === '' ? image.sha256 : sha256,
    source: 'stream',
    because: `${because}: ${image.format} of ${image.release} for ${image.architecture}`,
  });
}

/**
 * An image that is newer than the cluster would have to go back, which is not supported; an older
 * one is brought up to date when the node joins.
 */
function holdAgainstRelease({ scope }: Search, { release }: StreamImage): void {
  const line = lineOfBuild(release);
  const cluster = lineOfCluster(scope.config);
  if (line === undefined || cluster === undefined) return;
  const difference = compareLines(line, cluster);
  const sentence = `image ${release} is of ${renderLine(line)}, the cluster is ${renderLine(cluster)}`;
  const context = { release, line: renderLine(line), cluster: renderLine(cluster) };
  if (difference > 0) throw imageFailure('image.not-the-release', sentence, { context });
  if (difference < 0) scope.note('warn', sentence, context);
}

async function findOnMedium(
  { scope, disk }: Search,
  { isAsked, because }: { readonly isAsked: boolean; readonly because: string },
): Promise<ChosenImage> {
  const { host, signal, note } = scope;
  const found = await findLiveImage(host, { sectorBytes: disk.sectorBytes, signal });
  if (found?.kind === 'offline')
    return { kind: 'live', because: `${because}, and ${found.because}` };
  if (found !== undefined) {
    return { kind: 'file', path: found.path, because: `${because}, and ${found.because}` };
  }
  if (isAsked) {
    throw imageFailure('image.no-live-image', 'live medium has no image for this disk', {
      context: { disk: disk.path, sectorBytes: disk.sectorBytes },
    });
  }
  note('warn', 'no image on the live medium: the writer will look for one by itself', {
    hint: 'set image.url, image.file or image.stream',
  });
  return { kind: 'live', because: `${because}; the writer looks for one by itself` };
}

const fileMissing = (path: string): Error =>
  imageFailure('image.file-missing', `${path} is not on the host`, { context: { path } });
