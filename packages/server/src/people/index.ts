/** People: the front door. */
export { createSetupLink, inviteAgain } from './invitations/invitations.ts'
export { createUser, deleteUser } from './users/change-users.ts'
export { fullGrantor } from './users/grants.ts'
export { findUserId, pageOfUsers } from './users/list-people.ts'
