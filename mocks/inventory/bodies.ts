import { z } from 'zod';
import { frameworkError } from './answers.ts';
import { stagesV1, stagesV2 } from './ladders.ts';

const progressWith = <T extends readonly [string, ...string[]]>(
  stages: T,
): z.ZodObject<{ current_stage: z.ZodEnum; progress_info: z.ZodDefault<z.ZodString> }> =>
  z.strictObject({ current_stage: z.enum(stages), progress_info: z.string().default('') });

/** Body of a progress report to version 2 of the service. */
export const ProgressV2 = progressWith(stagesV2);
/** Body of a progress report to version 1. */
export const ProgressV1 = progressWith(stagesV1);

/** Body of a report about the collection of logs. */
export const LogsProgress = z.strictObject({
  logs_state: z.enum(['requested', 'collecting', 'completed', 'timeout', '']),
});

/** A body that was read, or the answer that refuses it. */
export type ReadBody<T> = { readonly value: T } | { readonly refusal: Response };

/** Reads a JSON body as strictly as the service does: unknown properties are refused with 400. */
export async function readJson<T>(request: Request, schema: z.ZodType<T>): Promise<ReadBody<T>> {
  const text = await request.text();
  if (text === '') return { refusal: frameworkError(400, 'body in body is required') };
  const read = schema.safeParse(parsed(text));
  if (read.success) return { value: read.data };
  const said = read.error.issues.map(({ path, message }) => `${path.join('.')} in body ${message}`);
  return { refusal: frameworkError(400, `validation failure list:\n${said.join('\n')}`) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a word is a UUID; the service refuses paths that hold anything else. */
export const isUuid = (word: string): boolean => z.guid().safeParse(word).success;
