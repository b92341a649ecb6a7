/** `custom_args`: a caller's own JSON, kept with what it was given with and echoed in its events. */
import { customArgsBytesMax, customArgsDepthMax, type JsonObject } from '@postrider/contract'

/** What is wrong with them, if anything. */
export function problemOfCustomArgs(customArgs: JsonObject): string | undefined {
  if (Buffer.byteLength(JSON.stringify(customArgs)) > customArgsBytesMax)
    return `must be at most ${customArgsBytesMax} bytes as JSON`
  return depthOf(customArgs) > customArgsDepthMax
    ? `must be at most ${customArgsDepthMax} levels deep`
    : undefined
}

/** Of a value that is known to be small. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
