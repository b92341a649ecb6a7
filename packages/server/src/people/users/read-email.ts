/** The address that a user logs in with: checked, and in lower case. */
import { parseAddress } from '@postrider/mail'
import { validationError } from '../../platform/errors.ts'

export function readEmail(text: string): string {
  const parsed = parseAddress(text)
  if (!parsed.ok) throw validationError({ path: '/email', message: parsed.problem })
  return keyOf(text)
}

/** Two spellings of one address have one key. */
export function keyOf(text: string): string {
  return text.normalize('NFC').toLowerCase()
}
