/**
 * The change that a field of an update asks for (docs/reference/http.md#requests): null removes what is
 * stored, which leaves `removed` in its place; undefined stays undefined, and changes nothing.
 */
export function nullAs<T, R>(given: T | null | undefined, removed: R): T | R | undefined {
  return given === null ? removed : given
}
