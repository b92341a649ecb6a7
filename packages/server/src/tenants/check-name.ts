/**
 * Names of tenants and keys are shown on terminals and in lists: one line of text
 * (docs/reference/operator.md#tenants-and-keys).
 */
import { validationError } from '../platform/errors.ts'

export function checkName(name: string): void {
  if (name.trim() === '') throw validationError({ path: '/name', message: 'must not be blank' })
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name))
    throw validationError({ path: '/name', message: 'must not contain control characters' })
}
