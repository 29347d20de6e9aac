-- MySQL dump 10.19  Distrib 10.11.6-MariaDB, for Linux (x86_64)
/*!40101 SET NAMES utf8mb4 */;

CREATE TABLE `discussion_tag` (
  `discussion_id` int(10) unsigned NOT NULL,
  `tag_id` int(10) unsigned NOT NULL,
  PRIMARY KEY (`discussion_id`,`tag_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `discussion_tag` VALUES
(20,1),(20,2),(20,6),
(21,1),(21,4),
(22,1),(22,5),
(23,1),
(24,1),(24,7),
(27,1);

CREATE TABLE `discussions` (
  `id` int(10) unsigned NOT NULL,
  `title` varchar(200) NOT NULL,
  `comment_count` int(11) NOT NULL DEFAULT 1,
  `created_at` datetime NOT NULL,
  `user_id` int(10) unsigned DEFAULT NULL,
  `first_post_id` int(10) unsigned DEFAULT NULL,
  `hidden_at` datetime DEFAULT NULL,
  `hidden_user_id` int(10) unsigned DEFAULT NULL,
  `slug` varchar(255) NOT NULL,
  `is_private` tinyint(1) NOT NULL DEFAULT 0,
  `is_approved` tinyint(1) NOT NULL DEFAULT 1,
  `is_locked` tinyint(1) NOT NULL DEFAULT 0,
  `is_sticky` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `discussions` VALUES
(20,'Hello \"world\"',3,'2021-12-01 11:00:00',2,10,NULL,NULL,'hello-world',0,1,0,1),
(21,'Internal',1,'2021-12-01 11:10:00',2,14,NULL,NULL,'internal',0,1,1,0),
(22,'Below the team',1,'2021-12-01 11:11:00',2,15,NULL,NULL,'below-the-team',0,1,0,0),
(23,'Held',1,'2021-12-01 11:12:00',3,16,NULL,NULL,'held',1,0,0,0),
(24,'Not for guests',1,'2021-12-01 11:13:00',3,17,NULL,NULL,'not-for-guests',0,1,0,0),
(25,'Without a tag',1,'2021-12-01 11:14:00',3,18,NULL,NULL,'without-a-tag',0,1,0,0),
(26,'Between two members',1,'2021-12-01 11:15:00',3,19,NULL,NULL,'between-two-members',1,1,0,0),
(27,'Hidden',1,'2021-12-01 11:16:00',3,30,'2021-12-01 12:00:00',2,'hidden',0,1,0,0);

CREATE TABLE `fof_upload_file_posts` (
  `id` bigint(20) unsigned NOT NULL,
  `file_id` int(10) unsigned DEFAULT NULL,
  `post_id` int(10) unsigned DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `fof_upload_file_posts` VALUES (1,1,11),(2,3,11),(3,1,12);

CREATE TABLE `fof_upload_files` (
  `id` int(10) unsigned NOT NULL,
  `actor_id` int(10) unsigned DEFAULT NULL,
  `base_name` varchar(255) NOT NULL,
  `path` varchar(255) DEFAULT NULL,
  `url` varchar(255) NOT NULL,
  `type` varchar(255) NOT NULL,
  `size` int(11) NOT NULL,
  `upload_method` varchar(255) DEFAULT NULL,
  `created_at` datetime NOT NULL DEFAULT current_timestamp(),
  `remote_id` varchar(255) DEFAULT NULL,
  `uuid` varchar(255) DEFAULT NULL,
  `tag` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `fof_upload_files` VALUES
(1,3,'dot.png','2021-12-01/1638358000-1-dot.png','https://forum.example.com/assets/files/2021-12-01/1638358000-1-dot.png','image/png',69,'local','2021-12-01 11:01:00',NULL,'0a1b2c3d-0000-4000-8000-000000000001','image-preview'),
(2,3,'remote.txt','remote.txt','https://files.example.com/remote.txt','text/plain',1,'aws-s3','2021-12-01 11:01:00',NULL,'0a1b2c3d-0000-4000-8000-000000000002','file'),
(3,3,'gone.txt','../../etc/passwd','https://forum.example.com/assets/files/gone.txt','text/plain',1,'local','2021-12-01 11:01:00',NULL,'0a1b2c3d-0000-4000-8000-000000000003','file'),
(4,3,'unused.txt','unused.txt','https://forum.example.com/assets/files/unused.txt','text/plain',1,'local','2021-12-01 11:01:00',NULL,'0a1b2c3d-0000-4000-8000-000000000004','file');

CREATE TABLE `group_permission` (
  `group_id` int(10) unsigned NOT NULL,
  `permission` varchar(100) NOT NULL,
  PRIMARY KEY (`group_id`,`permission`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `group_permission` VALUES
(2,'viewForum'),
(3,'discussion.likePosts'),
(3,'discussion.reply'),
(3,'startDiscussion'),
(2,'tag3.viewForum'),
(3,'tag3.discussion.reply'),
(3,'tag7.viewForum'),
(4,'tag4.viewForum'),
(3,'tag7.startDiscussion');

CREATE TABLE `post_likes` (
  `post_id` int(10) unsigned NOT NULL,
  `user_id` int(10) unsigned NOT NULL,
  `created_at` timestamp NOT NULL DEFAULT current_timestamp()
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `post_likes` VALUES
(10,3,'2021-12-01 11:20:00'),
(10,2,'2021-12-01 11:20:00'),
(10,99,'2021-12-01 11:20:00'),
(11,2,'2021-12-01 11:20:00');

CREATE TABLE `posts` (
  `id` int(10) unsigned NOT NULL,
  `discussion_id` int(10) unsigned NOT NULL,
  `number` int(10) unsigned DEFAULT NULL,
  `created_at` datetime NOT NULL,
  `user_id` int(10) unsigned DEFAULT NULL,
  `type` varchar(100) DEFAULT NULL,
  `content` mediumtext DEFAULT NULL COMMENT ' ',
  `edited_at` datetime DEFAULT NULL,
  `edited_user_id` int(10) unsigned DEFAULT NULL,
  `hidden_at` datetime DEFAULT NULL,
  `hidden_user_id` int(10) unsigned DEFAULT NULL,
  `ip_address` varchar(45) DEFAULT NULL,
  `is_private` tinyint(1) NOT NULL DEFAULT 0,
  `is_approved` tinyint(1) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `posts` VALUES
(10,20,1,'2021-12-01 11:00:00',2,'comment','<r><p>Hello <STRONG><s>**</s>everybody<e>**</e></STRONG>, 3 &lt; 4<br/>\nsee <URL url=\"https://example.com/a\"><s>[</s>this<e>](https://example.com/a)</e></URL></p></r>',NULL,NULL,NULL,NULL,'192.0.2.1',0,1),
(11,20,3,'2021-12-01 11:01:00',3,'comment','<r><QUOTE author=\"Ann\"><s>[quote=\"Ann\"]</s>Hello<e>[/quote]</e></QUOTE>\n<p><POSTMENTION discussionid=\"20\" displayname=\"Ann\" id=\"10\" number=\"1\">@\"Ann\"#p10</POSTMENTION> Hi <UPL-IMAGE-PREVIEW uuid=\"0a1b2c3d-0000-4000-8000-000000000001\" url=\"https://forum.example.com/assets/files/2021-12-01/1638358000-1-dot.png\">[upl-image-preview uuid=0a1b2c3d-0000-4000-8000-000000000001 url=https://forum.example.com/assets/files/2021-12-01/1638358000-1-dot.png]</UPL-IMAGE-PREVIEW> and</p></r>','2021-12-01 11:02:00',2,NULL,NULL,'192.0.2.1',0,1),
(12,20,4,'2021-12-01 11:03:00',NULL,'comment','<t><p>of a member who left</p></t>',NULL,NULL,NULL,NULL,NULL,0,1),
(13,20,5,'2021-12-01 11:04:00',5,'comment','<t><p>BUY NOW</p></t>',NULL,NULL,'2021-12-01 11:05:00',2,NULL,0,1),
(9,20,2,'2021-12-01 11:00:30',2,'discussionRenamed','[\"Helo\",\"Hello\"]',NULL,NULL,NULL,NULL,NULL,0,1),
(14,21,1,'2021-12-01 11:10:00',2,'comment','<t><p>Only for the team</p></t>',NULL,NULL,NULL,NULL,NULL,0,1),
(15,22,1,'2021-12-01 11:11:00',2,'comment','<t><p>Only for the team as well</p></t>',NULL,NULL,NULL,NULL,NULL,0,1),
(16,23,1,'2021-12-01 11:12:00',3,'comment','<t><p>to be approved</p></t>',NULL,NULL,NULL,NULL,NULL,1,0),
(17,24,1,'2021-12-01 11:13:00',3,'comment','<t><p>not for guests</p></t>',NULL,NULL,NULL,NULL,NULL,0,1),
(18,25,1,'2021-12-01 11:14:00',3,'comment','<t><p>no tag</p></t>',NULL,NULL,NULL,NULL,NULL,0,1),
(19,26,1,'2021-12-01 11:15:00',3,'comment','<t><p>between us</p></t>',NULL,NULL,NULL,NULL,NULL,1,1),
(30,27,1,'2021-12-01 11:16:00',3,'comment','<t><p>hidden</p></t>',NULL,NULL,NULL,NULL,NULL,0,1);

CREATE TABLE `tags` (
  `id` int(10) unsigned NOT NULL,
  `name` varchar(100) NOT NULL,
  `slug` varchar(100) NOT NULL,
  `description` text DEFAULT NULL,
  `color` varchar(50) DEFAULT NULL,
  `position` int(11) DEFAULT NULL,
  `parent_id` int(10) unsigned DEFAULT NULL,
  `is_restricted` tinyint(1) NOT NULL DEFAULT 0,
  `is_hidden` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `tags` VALUES
(1,'General','general','All about it','#888',0,NULL,0,0),
(2,'Talk & chat','talk','','#888',0,1,0,0),
(3,'News','news',NULL,'#888',1,NULL,1,0),
(4,'Team','team',NULL,'#888',2,NULL,1,0),
(5,'Plans','plans',NULL,'#888',0,4,0,0),
(6,'Question','question',NULL,'#888',NULL,NULL,0,0),
(7,'Members only','members-only',NULL,'#888',NULL,NULL,1,0);

CREATE TABLE `users` (
  `id` int(10) unsigned NOT NULL,
  `username` varchar(100) NOT NULL,
  `email` varchar(150) NOT NULL,
  `is_email_confirmed` tinyint(1) NOT NULL DEFAULT 0,
  `password` varchar(100) NOT NULL,
  `avatar_url` varchar(100) DEFAULT NULL,
  `preferences` blob DEFAULT NULL,
  `joined_at` datetime DEFAULT NULL,
  `last_seen_at` datetime DEFAULT NULL,
  `suspended_until` datetime DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO `users` VALUES
(2,'Ann','ann@example.org',1,'$2y$10$ugiN38Ht0BIT49OI/8rOWu0Vq7At2oqiM.P1kMN/5fhgHlKMSdBum','ann.png',NULL,'2021-01-01 10:00:00','2021-12-01 12:00:00',NULL),
(3,'Bert','bert@example.org',1,'$2y$10$ugiN38Ht0BIT49OI/8rOWu0Vq7At2oqiM.P1kMN/5fhgHlKMSdBum',NULL,NULL,'2021-01-02 10:00:00','2021-12-01 12:00:00',NULL),
(4,'Sleeper','sleeper@example.org',0,'$2y$10$ugiN38Ht0BIT49OI/8rOWu0Vq7At2oqiM.P1kMN/5fhgHlKMSdBum',NULL,NULL,'2021-01-02 10:00:00',NULL,NULL),
(5,'Spammer','spam@example.org',1,'$2y$10$ugiN38Ht0BIT49OI/8rOWu0Vq7At2oqiM.P1kMN/5fhgHlKMSdBum',NULL,NULL,'2021-01-02 10:00:00',NULL,'2038-01-01 00:00:00');
-- Dump completed
