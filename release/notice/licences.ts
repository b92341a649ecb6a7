/** Which licences a release may have inside: all permit redistribution in a product under another licence. */

/** SPDX identifiers. A new one is a decision: read its text before it is added. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
])

/** For fonts alone: it wants the fonts' names kept, and the licence beside them. */
const ALLOWED_FOR_FONTS = 'OFL-1.1'
const FONTS = /^@fontsource(?:-variable)?\//

/** Of an expression with `OR` the first licence that is allowed. Anything that is not understood is refused. */
export function chooseLicence(name: string, expression: string): string | undefined {
  const choices = expression.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return choices.find((one) => ALLOWED.has(one) || (one === ALLOWED_FOR_FONTS && FONTS.test(name)))
}
