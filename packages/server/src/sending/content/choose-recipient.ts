/** Whose copy of an email is asked for, by the address. */
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { ApiError, validationError } from '../../platform/errors.ts'

/** Throws 400 where it is no address. */
export function readRecipient(email: string): string {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw validationError({ path: '/email', message: parsed.problem })
  return addressKeyOf(parsed.address.address)
}

/** The number of the recipient; throws 404 where there is no such one, 400 where one of several must be named. */
export function chosenOf(
  recipients: readonly { readonly n: number; readonly email: string }[],
  sought: string | undefined,
): number {
  const [only, ...others] = recipients
  if (sought === undefined) {
    if (only !== undefined && others.length === 0) return only.n
    throw validationError({
      path: '/email',
      message: 'is required: the email has several recipients, and each has a copy of its own',
    })
  }
  const found = recipients.find(({ email }) => {
    const parsed = parseAddress(email)
    return parsed.ok && addressKeyOf(parsed.address.address) === sought
  })
  if (found === undefined)
    throw new ApiError('not_found', { message: 'The email has no such recipient' })
  return found.n
}
