import type { Config } from '../../config/schema.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { ignitionSourceFailure } from './failures.ts';
import { fromFile } from './sources/file.ts';
import { fromS3 } from './sources/s3.ts';
import { fromService } from './sources/service.ts';
import type { IgnitionSource } from './sources/source.ts';
import { fromUrl } from './sources/url.ts';

/** The sources by the name that `ignition.source` has for them. */
type SourceName = Exclude<Config['ignition']['source'], 'auto'>;

/** A source of Ignition, and why it is this one. */
export interface ChosenSource {
  readonly name: SourceName;
  readonly open: IgnitionSource;
  readonly because: string;
}

interface Candidate {
  readonly open: IgnitionSource;
  /** What must be set for it, for people. */
  readonly needs: string;
  /** Where it reads from, or undefined when it is not configured. */
  readonly place: (config: Config) => string | undefined;
}

const given = (value: string): string | undefined => (value === '' ? undefined : value);

/** In the order of `auto`: what names one config comes before what serves many hosts. */
const candidates: Readonly<Record<SourceName, Candidate>> = {
  file: { open: fromFile, needs: 'ignition.file', place: ({ ignition }) => given(ignition.file) },
  url: {
    open: fromUrl,
    needs: 'ignition.url',
    place: ({ ignition }) => given(shownUrl(ignition.url)),
  },
  s3: {
    open: fromS3,
    needs: 's3.endpoint and s3.bucket',
    place: ({ s3 }) =>
      s3.endpoint === '' || s3.bucket === ''
        ? undefined
        : `${shownUrl(s3.endpoint)}, bucket ${s3.bucket}`,
  },
  service: {
    open: fromService,
    needs: 'service.url',
    place: ({ service }) => given(shownUrl(service.url)),
  },
};

const names = Object.keys(candidates) as readonly SourceName[];

/**
 * Chooses where the Ignition of this host comes from.
 * @throws AgentError `ignition.not-configured`
 */
export function chooseSource(config: Config): ChosenSource {
  const { source } = config.ignition;
  const name =
    source === 'auto' ? names.find((one) => candidates[one].place(config) !== undefined) : source;
  const place = name === undefined ? undefined : candidates[name].place(config);
  if (name === undefined || place === undefined) {
    const what = name === undefined ? 'nothing is set' : `${candidates[name].needs} is not set`;
    throw ignitionSourceFailure('ignition.not-configured', `source of Ignition: ${what}`, {
      context: { source },
    });
  }
  const because =
    source === 'auto' ? `${candidates[name].needs} is set` : 'ignition.source says so';
  return { name, open: candidates[name].open, because: `${place} (${because})` };
}

/** The choice as a plan tells it; a configuration that lacks a source is told, too. */
export function explainSource(config: Config): string {
  try {
    const { name, because } = chooseSource(config);
    return `from ${name}: ${because}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
