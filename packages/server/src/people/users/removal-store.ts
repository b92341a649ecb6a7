/** SQL that removes the members of a tenant that is being deleted (docs/reference/operator.md#deletion). */
import { type Queryable, statement } from '../../platform/db/index.ts'

const REMOVE = statement(
  'people.remove_members',
  `with gone as (
     delete from people_member where tenant_id = $1
        and user_id = any(array(select user_id from people_member where tenant_id = $1 limit $2))
     returning user_id
   ), useless as (
     delete from people_user u using gone
      where u.user_id = gone.user_id and u.operator_role is null
        and not exists (select from people_member m
                         where m.user_id = u.user_id and m.tenant_id <> $1)
   )
   select from gone`,
)

/** Up to `limit`, and of these the users who are no operators, and members of nothing else. Answers how many members. */
export async function removeMembers(
  q: Queryable,
  tenantId: string,
  limit: number,
): Promise<number> {
  return (await q.query(REMOVE, [tenantId, limit])).rowCount
}
