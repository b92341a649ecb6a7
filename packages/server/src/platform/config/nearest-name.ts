/** A longer one is no slip of the pen, and costs more to compare. */
const NAME_CHARS_MAX = 64

/**
 * The known name that a mistyped one most probably means, if any is near. One that differs only in case,
 * underscores and hyphens (`ref_id`, `refId`) is nearer than any other.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > NAME_CHARS_MAX) return undefined
  const respelt = known.find((candidate) => letters(candidate) === letters(name))
  if (respelt !== undefined) return respelt
  const distanceMax = Math.max(1, Math.floor(name.length / 4))
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > distanceMax) continue
    const distance = editDistance(name, candidate)
    if (best === undefined || distance < best.distance) best = { name: candidate, distance }
  }
  return best !== undefined && best.distance <= distanceMax ? best.name : undefined
}

function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}

/**
 * Insertions, deletions, replacements and exchanges of neighbours that turn one text into the other
 * (Damerau-Levenshtein, optimal string alignment).
 */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    rows.push(current)
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = at(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const shifted = Math.min(at(row - 1, column), at(row, column - 1)) + 1
      const isExchange = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const exchanged = row > 1 && column > 1 && isExchange ? at(row - 2, column - 2) + 1 : replaced
      current.push(Math.min(replaced, shifted, exchanged))
    }
  }
  return at(a.length, b.length)
}
