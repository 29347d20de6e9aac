// A handler class. Each method gets data (query, body, URL parameters and userId in
// one object) and ctx (method, path, headers, user, setStatus, setHeader, requestId).
// The response to a returned string is {"message": ...}, and to an object its JSON.
class Example {
  static test() {
    return 'test successful';
  }

  static getAllUsers() {
    return { users: users.find().map(({ id, name }) => ({ id, name })) };
  }

  static getUser(data) {
    const { id } = RestApiHelper.checkAndSanitizeRequiredParameters(data, ['id|int']);
    const user = users.get(id);
    if (!user) {
      throw { code: 404, message: 'user not found' };
    }
    return { id: user.id, name: user.name };
  }
}

module.exports = { Example };
