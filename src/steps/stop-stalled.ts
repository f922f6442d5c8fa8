/**
 * Runs work that can stall, and stops it by its signal with the error that a watch resolves with.
 * @param watch ends at the latest when its signal aborts
 * @throws the error of the watch, otherwise those of `run`
 */
export async function stopStalled<T>(
  signal: AbortSignal,
  watch: (signal: AbortSignal) => Promise<Error>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [over, stalled] = [new AbortController(), new AbortController()];
  const watching = watch(AbortSignal.any([signal, over.signal])).then(
    (error) => stalled.abort(error),
    () => undefined,
  );
  try {
    return await run(AbortSignal.any([signal, stalled.signal]));
  } catch (error) {
    throw stalled.signal.aborted && !signal.aborted ? stalled.signal.reason : error;
  } finally {
    over.abort(new Error('what was watched is over'));
    await watching;
  }
}
