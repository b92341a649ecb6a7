/** What a body repeats of its path has to be the same. */
import { readName } from '../../domains/index.ts'
import { validationError } from '../../platform/errors.ts'
import { readUsername } from './usernames/username.ts'

export function checkRepeatedDomain(
  name: string,
  { domain }: { readonly domain?: string | null },
): void {
  if (domain == null || readName(domain) === readName(name)) return
  throw validationError({ path: '/domain', message: 'must be the domain of the path' })
}

export function checkRepeatedUsername(
  name: string,
  { username }: { readonly username?: string | null },
): void {
  if (username == null || readUsername(username) === readUsername(name)) return
  throw validationError({ path: '/username', message: 'must be the username of the path' })
}
