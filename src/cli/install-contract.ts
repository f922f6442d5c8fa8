import type { SettingKey } from '../config/settings.ts';
import type { Config } from '../config/schema.ts';
import type { Stage } from '../model/stage.ts';

/** A report that left before the rest of the program was loaded; the reporter takes it over. */
export interface FirstReport {
  readonly stage: Stage;
  readonly info: string;
  /** Never rejects. After `failed` the report has to be sent again. */
  readonly sent: Promise<'accepted' | 'failed'>;
}

/** A configuration that an install can start with. */
export interface LoadedConfig {
  /** Deep-frozen. */
  readonly config: Config;
  /** By dotted name: `flag --url`, `file config.yaml:12`, `default`. */
  readonly origins: ReadonlyMap<SettingKey, string>;
  /** Sentences for the log: flags without effect, a missing token. */
  readonly notes: readonly string[];
  readonly firstReport?: FirstReport;
}

/** How an install is asked for, beside its configuration. */
export interface InstallOptions {
  /** Sets the journal of an earlier run aside and begins anew. */
  readonly isFresh: boolean;
}

/**
 * Installs this host and resolves with the exit code: 0, that of the failure's kind, or 128 and the
 * number of the signal that stopped it. A failure is told in three lines on standard error, masked.
 */
export type Install = (loaded: LoadedConfig, options: InstallOptions) => Promise<number>;
