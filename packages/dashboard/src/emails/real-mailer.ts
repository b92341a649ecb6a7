/** Test mail names its mailer as `test_` and the ULID of the one that it would go by. */
export function findMailer<M extends { readonly mailer_id: string }>(
  mailers: readonly M[] | undefined,
  mailerId: string,
): M | undefined {
  const isTest = mailerId.startsWith('test_')
  const ulid = mailerId.slice(mailerId.indexOf('_'))
  return mailers?.find(({ mailer_id }) =>
    isTest ? mailer_id.endsWith(ulid) : mailer_id === mailerId,
  )
}
