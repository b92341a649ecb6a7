/** What the service says of a form: each sentence goes to the field that it is about. */
import { PostriderError } from '@postrider/client'

export interface FieldErrors {
  /** Of the field with this path, or of a part of it. */
  of(path: string): string | undefined
  /** The refusal, unless the fields show all of it. */
  readonly rest: unknown
}

/** `paths`: of the fields that the form shows. */
export function fieldErrors(error: unknown, paths: readonly string[]): FieldErrors {
  const errors = error instanceof PostriderError ? (error.errors ?? []) : []
  const isAt = (path: string) => (one: { readonly path: string }) =>
    one.path === path || one.path.startsWith(`${path}/`)
  const isShown = errors.length > 0 && errors.every((one) => paths.some((path) => isAt(path)(one)))
  return {
    of: (path) => errors.find(isAt(path))?.message,
    rest: isShown ? undefined : error,
  }
}
