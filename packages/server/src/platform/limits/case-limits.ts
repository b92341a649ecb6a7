/**
 * How many cases a look over tenants reads. One tenant may have as many as it likes: it has a bound of its own, so
 * that it hides no other's. Cases that are open already are read before all others, so one that is open and is not
 * read is over.
 */
export interface CaseLimits {
  /** Null: of all tenants. */
  readonly tenantIds: readonly string[] | null
  /** Open cases: the tenant and the subject of each, in the same order. */
  readonly open: { readonly tenantIds: readonly string[]; readonly subjects: readonly string[] }
  /** Of one tenant. What is open is read whatever there is of it. */
  readonly perTenantMax: number
  readonly max: number
}

/**
 * SQL that reads `from` by these limits, which are its parameters in the order of `caseValues`: tenants in turn.
 * `from` has tenant_id and is called t; `where` and `orderBy` name its columns by `t.`.
 */
export function selectCases(o: {
  readonly columns: string
  readonly from: string
  readonly where: string
  readonly subject: string
  readonly orderBy: string
}): string {
  return `select ${o.columns}
     from (select t.*, o.subject is not null as is_open,
                  row_number() over (partition by t.tenant_id
                                     order by o.subject is null, ${o.orderBy}) as place
             from ${o.from} t
             left join unnest($2::text[], $3::text[]) as o (tenant_id, subject)
               on o.tenant_id = t.tenant_id and o.subject = ${o.subject}
            where ${o.where} and ($1::text[] is null or t.tenant_id = any($1))) t
    where t.is_open or t.place <= $4
    order by not t.is_open, t.place limit $5`
}

export function caseValues({ tenantIds, open, perTenantMax, max }: CaseLimits): unknown[] {
  return [tenantIds, open.tenantIds, open.subjects, perTenantMax, max]
}
